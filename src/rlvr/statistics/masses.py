"""Realised gradient masses by solve rate, and the closed form that they are held against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.measures import METRICS
from rlvr.estimators import Estimator
from rlvr.statistics.intervals import over_seeds
from rlvr.statistics.run_rows import Runs, cell_columns, in_range, value_of

SIDES = {"positive": "positive_mass_by_correct", "negative": "negative_mass_by_correct"}
ORIENTATION = "grpo"


def masses(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row a model, arm, side and number of correct responses c: realised, and as a closed form at p = c / G.

    Realised: a run's mean over its steps, each with the same weight, of the groups with c correct; then over seeds.
    """
    rows = []
    for cell, weights in zip(layout["cells"], layout["weights"], strict=True):
        rollouts, realised = 0, []
        for side, name in SIDES.items():
            means_SC = np.array([_means(runs, run, name, layout["up_to_step"]) for run in cell["policies"]])
            rollouts = means_SC.shape[1] - 1
            for c in range(rollouts + 1):
                known = means_SC[~np.isnan(means_SC[:, c]), c]
                if known.size:
                    interval = over_seeds(known, layout["statistics"]["confidence"])
                    realised.append(
                        {
                            "form": "realised",
                            "side": side,
                            "p": c / rollouts,
                            "value": interval.estimate,
                            "value_low": interval.low,
                            "value_high": interval.high,
                            "seeds": known.size,
                        }
                    )
        form = "own" if has_closed_form(**weights) else ORIENTATION
        closed = closed_form(weights["estimator"] if form == "own" else {"name": ORIENTATION}, rollouts)
        rows += [{**cell_columns(cell), "measure": "masses", **row} for row in realised]
        rows += [
            {**cell_columns(cell), "measure": "masses", "form": form, "side": side, "p": c / rollouts, "value": value}
            | {"value_low": math.nan, "value_high": math.nan, "seeds": 0}
            for side, values in closed.items()
            for c, value in enumerate(values)
        ]
    return pd.DataFrame(rows)


def _means(runs: Runs, run: str, name: str, up_to_step: int | None) -> list[float]:
    rows = runs[run][METRICS]
    kept = set(in_range([row["step"] for row in rows], up_to_step))
    table = np.array([value_of(row, name, run) for row in rows if row["step"] in kept], dtype=float)
    return [float(np.nanmean(column)) if (~np.isnan(column)).any() else math.nan for column in table.T]


def has_closed_form(estimator: dict[str, Any], shaped: bool) -> bool:
    """Whether the weights are a function of the solve rate alone: no state, no confidence, no length penalty."""
    method = _estimator(estimator)
    return bool(method.signature.formula) and not (method.needs or method.signature.state or shaped)


def closed_form(estimator: dict[str, Any], rollouts: int) -> dict[str, list[float]]:
    """m_S and m_F of an estimator at p = 0, 1/G, ..., 1."""
    import torch  # only here, where a formula of `rlvr.estimators` is called

    p = torch.arange(rollouts + 1, dtype=torch.float64) / rollouts
    success, failure = _estimator(estimator).masses(p, rollouts)
    return {"positive": success.tolist(), "negative": failure.tolist()}


def _estimator(estimator: dict[str, Any]) -> Estimator:
    return Estimator(estimator["name"], {key: value for key, value in estimator.items() if key != "name"})

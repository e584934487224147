"""Runs that collapse: prompts without a correct response become fewer, and then many more again (A-GRAE, Fig. 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rlvr.config.measures import METRICS
from rlvr.statistics.run_rows import Runs, cell_columns, in_range, running_mean, value_of


@dataclass(frozen=True)
class Verdict:
    """The mean share of unsolved prompts at the end of a run, the smallest before it, and whether it collapsed."""

    last: float
    smallest: float
    collapsed: bool


def judge(unsolved_T: NDArray[np.float64], *, window: float, factor: float, share: float) -> Verdict:
    """Whether a run has collapsed, by the share of its prompts without a correct response at each of T steps.

    With w = round(window T) steps, at least one: the mean of the last w exceeds `factor` times the smallest mean of w
    steps in a row that end before them, and exceeds it by `share` at least. A run of fewer than 2 w steps has no steps
    before, and has not collapsed. Raises ValueError for an empty run or a share outside [0, 1].
    """
    if not unsolved_T.size or not ((unsolved_T >= 0) & (unsolved_T <= 1)).all():
        raise ValueError("needs a share in [0, 1] for each of one step or more")
    width = steps_of(window, unsolved_T.size)
    means = np.convolve(unsolved_T, np.ones(width) / width, mode="valid")
    before, last = means[:-width], float(means[-1])
    if not before.size:
        return Verdict(last, math.nan, False)
    smallest = float(before.min())
    # Means of equal shares differ in their last bits.
    risen = last > factor * smallest + 1e-12 and last - smallest >= share - 1e-12
    return Verdict(last, smallest, risen)


def steps_of(window: float, steps: int) -> int:
    return max(1, round(window * steps))


def _of_run(layout: dict[str, Any], runs: Runs, run: str) -> Verdict:
    return judge(np.array(unsolved_shares(runs[run][METRICS], run)), **layout["collapse"])


def unsolved_shares(rows: list[dict[str, Any]], run: str) -> list[float]:
    """Shares, since dynamic sampling draws more prompts at one step than at another."""
    return [value_of(row, "unsolved", run) / value_of(row, "prompts_drawn", run) for row in rows]


def collapse_curves(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row a model, arm, run and step: share of unsolved prompts, its running mean, whether the run collapsed."""
    rows = []
    for cell in layout["cells"]:
        for run in cell["policies"]:
            own, verdict = runs[run][METRICS], _of_run(layout, runs, run)
            values = unsolved_shares(own, run)
            means = running_mean(values, steps_of(layout["collapse"]["window"], len(values)))
            shown = in_range([row["step"] for row in own], layout["up_to_step"])
            rows += [
                {
                    **cell_columns({**cell, "policies": [run]}),
                    "step": step,
                    "measure": "unsolved",
                    "value": value,
                    "running_mean": mean,
                    "collapsed": verdict.collapsed,
                    "seeds": len(cell["policies"]),
                }
                for step, value, mean in zip(shown, values, means, strict=False)
            ]
    return pd.DataFrame(rows)


def collapse_table(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row a model and arm: runs, collapsed ones, their share with a Clopper-Pearson interval, Fisher's exact p.

    p is two-sided, of the counts of an arm and of the compared arm with the same model.
    """
    rows, confidence = [], layout["statistics"]["confidence"]
    for cell in layout["cells"]:
        verdicts = [_of_run(layout, runs, run) for run in cell["policies"]]
        collapsed = sum(verdict.collapsed for verdict in verdicts)
        interval = stats.binomtest(collapsed, len(verdicts)).proportion_ci(confidence, method="exact")
        rows.append(
            {
                **cell_columns(cell),
                "measure": "collapse",
                "runs": len(verdicts),
                "seeds": len(verdicts),
                "collapsed": collapsed,
                "value": collapsed / len(verdicts),
                "value_low": interval.low,
                "value_high": interval.high,
                "p": math.nan,
            }
        )
    baseline = {row["model"]: row for row in rows if row["arm"] == layout["compare_with"]}
    for row in rows:
        other = baseline.get(row["model"])
        if other is not None and other is not row:
            counts = [[r["collapsed"], r["runs"] - r["collapsed"]] for r in (row, other)]
            test: Any = stats.fisher_exact(counts)
            row["p"] = float(test.pvalue)
    return pd.DataFrame(rows)

"""Realised gradient masses by solve rate, next to the closed form (FADE, Eq. 3)."""

import math
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.colors import COLORS
from rlvr.config.layouts import Spec
from rlvr.config.measures import METRICS
from rlvr.config.plan import Item, Plan
from rlvr.estimators import Estimator
from rlvr.figures import _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, below, error_bars
from rlvr.items.layout import filled, runs_of_cells
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.run_rows import RunRows, cell_columns, in_range, value_of

EXACT = {"value_low": math.nan, "value_high": math.nan, "seeds": 0}
SIDES = {"positive": "positive_mass_by_correct", "negative": "negative_mass_by_correct"}
ORIENTATION, GREY = "grpo", COLORS["grey"]
CAPTION = "Bars: 95 % intervals over {seeds} training seeds (Student's t)."


class Weights(Spec):
    """What the closed form of a cell's weights depends on. `shaped`: rewards that are not 0 and 1."""

    estimator: dict[str, Any]
    shaped: bool


class MassesLayout(_training.TrainingLayout):
    weights: tuple[Weights, ...]  # by cell


def lay_out(item: Item, plan: Plan, paper: str) -> MassesLayout:
    weights = tuple(
        Weights(estimator=run.estimator, shaped=run.reward.overlong_penalty > 0) for run in runs_of_cells(item, plan)
    )
    return filled(MassesLayout, item, plan, paper, weights=weights)


def statistics(layout: MassesLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, side and number of correct responses c: realised, and the closed form at p = c / G.

    Realised: the mean over a run's steps, with equal weights, of the groups with c correct; then over seeds.
    """
    rows = []
    for cell, weights in zip(layout.cells, layout.weights, strict=True):
        head, rollouts = {**cell_columns(cell), "measure": "masses"}, 0
        for side, name in SIDES.items():
            means_SC = np.array([_means(runs, run, name, layout.up_to_step) for run in cell.policies])
            rollouts = means_SC.shape[1] - 1
            for c in range(rollouts + 1):
                values_S = means_SC[~np.isnan(means_SC[:, c]), c]
                if values_S.size:
                    numbers = mean_of_seeds(values_S, layout.confidence)
                    rows.append({**head, "form": "realised", "side": side, "p": c / rollouts, **numbers})
        form = "own" if has_closed_form(weights.estimator, weights.shaped) else ORIENTATION
        closed = closed_form(weights.estimator if form == "own" else {"name": ORIENTATION}, rollouts)
        rows += [
            {**head, "form": form, "side": side, "p": c / rollouts, "value": value, **EXACT}
            for side, values in closed.items()
            for c, value in enumerate(values)
        ]
    return pd.DataFrame(rows)


def _means(runs: RunRows, run: str, name: str, up_to_step: int | None) -> list[float]:
    rows = runs[run][METRICS]
    steps = set(in_range([row["step"] for row in rows], up_to_step))
    table = np.array([value_of(row, name, run) for row in rows if row["step"] in steps], dtype=float)
    return [float(np.nanmean(column)) if (~np.isnan(column)).any() else math.nan for column in table.T]


def has_closed_form(estimator: dict[str, Any], shaped: bool) -> bool:
    """Whether the weights depend only on the solve rate: no state, no confidence, no length penalty."""
    method = _estimator(estimator)
    return bool(method.kind.formula) and not (method.needs or method.kind.state or shaped)


def closed_form(estimator: dict[str, Any], rollouts: int) -> dict[str, list[float]]:
    """m_S and m_F of an estimator at p = 0, 1/G, ..., 1."""
    import torch  # here, since planning imports no torch

    p = torch.arange(rollouts + 1, dtype=torch.float64) / rollouts
    success, failure = _estimator(estimator).masses(p, rollouts)
    return {"positive": success.tolist(), "negative": failure.tolist()}


def _estimator(estimator: dict[str, Any]) -> Estimator:
    return Estimator(estimator["name"], {key: value for key, value in estimator.items() if key != "name"})


def draw(layout: MassesLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: realised masses with intervals over seeds, and closed forms; positive up, negative down."""
    from matplotlib.ticker import FuncFormatter

    frame = frames[0]
    styles = looks(frame["arm"], layout)
    figure, panels = _training.panels(frame, height=2.1, sharex=True)
    for axes, cell, first in panels:
        tint = styles[str(cell["arm"].iloc[0])].color
        lines: dict[str, dict[str, Any]] = {
            "own": {"color": tint, "linewidth": 1.4},
            ORIENTATION: {"color": GREY, "linestyle": "--"},
        }
        axes.axhline(0, color="0.6", linewidth=0.8)
        for side, sign in (("positive", 1), ("negative", -1)):
            rows = cell[cell["side"] == side]
            for form, style in lines.items():
                line = rows[rows["form"] == form]
                axes.plot(line["p"], sign * line["value"], **style)
            points = rows[rows["form"] == "realised"]
            errors = [length.fillna(0.0) for length in error_bars(points)]
            style = {"color": tint, "fmt": "o", "markersize": 4, "elinewidth": 1.0, "zorder": 3}
            axes.errorbar(points["p"], sign * points["value"], yerr=errors if sign > 0 else errors[::-1], **style)
        reach = {side: float(cell.loc[cell["side"] == side, "value"].max()) for side in ("positive", "negative")}
        largest = max(*reach.values(), 1e-6)
        axes.set_ylim(-1.25 * max(reach["negative"], 0.1 * largest), 1.25 * max(reach["positive"], 0.1 * largest))
        axes.set(xlabel="solve rate of a group", xlim=(-0.03, 1.03))
        axes.set_ylabel("gradient mass\n← negative   positive →" if first else "")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):g}"))
    _legend_of_masses(figure, frame)
    return figure


def _legend_of_masses(figure: Figure, frame: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=GREY, marker="o", linestyle="", label="realised, mean over steps")]
    if (frame["form"] == "own").any():
        handles.append(Line2D([], [], color="#1A1A1A", linewidth=1.4, label="closed form of the method's weights"))
    if (frame["form"] == "grpo").any():
        words = "GRPO's closed form, for orientation: the method's weights depend on more than the solve rate"
        handles.append(Line2D([], [], color=GREY, linestyle="--", label=words))
    below(figure, {str(handle.get_label()): handle for handle in handles})


FIGURE = _training.TrainingKind(layout=MassesLayout, lay_out=lay_out, statistics=statistics, draw=draw, caption=CAPTION)

"""Measures (`rlvr.config.measures`) over training steps, with intervals over seeds."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from rlvr.claims import curve_claims
from rlvr.config.layers import ConfigError
from rlvr.config.measures import HARD, MEASURES, METRICS, PROBE, Curve, UnknownMeasure, curve, possible
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive
from rlvr.estimators import kind
from rlvr.figures import _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Axes, Figure, grid, legend
from rlvr.items.layout import filled, runs_of_cells
from rlvr.items.rows import mean_of_seeds
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import RunRows, by_seed, cell_columns, in_range, running_mean, value_at

DIGITS = 4  # of a line's values, which are many
CAPTION = (
    "Lines: means over {seeds} training seeds. Bands: their 95 % intervals (Student's t); where a panel has more than "
    "two methods, thin lines: the seeds."
)


class Config(_training.WithPublished):
    measures: list[str] = Field(min_length=1)
    smooth: Positive | None = None  # steps of the running mean of measures on training batches


def expand(name: str, config: Config, scope: Scope) -> Item:
    item = _training.expand(name, config, scope)
    runs = [scope.plan.runs[run] for cell in item.cells for run, _ in cell.policies]
    for measure in config.measures:
        _check(measure, runs, scope.place)
    return item


def _check(name: str, runs: list[Any], place: str) -> None:
    """Raises ConfigError for a measure that the runs lack."""
    try:
        measure = curve(name)
    except UnknownMeasure as error:
        raise ConfigError(f"{place}.measures: {error}") from error
    if measure.rows not in (PROBE, METRICS):
        raise ConfigError(f"{place}.measures: {name!r} is a measure of {measure.rows}; another kind of figure shows it")
    if measure.rows == PROBE and not all(run.probe.problems for run in runs):
        raise ConfigError(f"{place}.measures: {name!r} needs held-out problems (probe.problems)")
    if measure.name == "greedy" and not all(run.probe.greedy for run in runs):
        raise ConfigError(f"{place}.measures: 'greedy' needs probe.greedy: true in the settings of every arm")
    if MEASURES[measure.name].state and not any(measure.name in kind(run.estimator["name"]).state for run in runs):
        raise ConfigError(f"{place}.measures: {name!r} is of a method's state, and no arm of this figure has it")
    if measure.name == HARD and not all(run.validation.about.hard_levels for run in runs):
        sets = ", ".join(dict.fromkeys(run.validation.name for run in runs))
        raise ConfigError(f"{place}.measures: {HARD!r} needs about.hard_levels of {sets} (config/datasets.yaml)")


class OverStepsLayout(_training.TrainingLayout):
    measures: tuple[Curve, ...]
    hard_levels: tuple[tuple[str, ...], ...]  # by cell
    smooth: int | None = None


def lay_out(item: Item, plan: Plan, paper: str) -> OverStepsLayout:
    config: Any = item.content
    measures = tuple(curve(measure, config.smooth) for measure in config.measures)
    hard_levels = tuple(tuple(run.validation.about.hard_levels) for run in runs_of_cells(item, plan))
    return filled(OverStepsLayout, item, plan, paper, measures=measures, hard_levels=hard_levels)


def statistics(layout: OverStepsLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, measure and step; without steps at which no seed has the measure.

    `by_seed` has the value of each run, NaN where it has none at this step.
    """
    rows = []
    for cell, hard_levels in zip(layout.cells, layout.hard_levels, strict=True):
        for measure in layout.measures:
            smooth = layout.smooth if measure.rows == METRICS else None
            series = [_series(runs, run, measure, hard_levels, smooth) for run in cell.policies]
            for step in in_range(sorted({step for values in series for step in values}), layout.up_to_step):
                every_S = np.array([s.get(step, math.nan) for s in series])
                values_S = every_S[~np.isnan(every_S)]
                if values_S.size:
                    row = {**cell_columns(cell), "step": step, "measure": measure.written}
                    row |= mean_of_seeds(values_S, layout.confidence, possible(measure.name))
                    rows.append({**row, "by_seed": by_seed(every_S, DIGITS)})
    return pd.DataFrame(rows)


def _series(
    runs: RunRows, run: str, measure: Curve, hard_levels: Sequence[str], smooth: int | None
) -> dict[int, float]:
    rows = runs[run][measure.rows]
    values = [value_at(row, measure.name, hard_levels, run) for row in rows]
    return dict(zip((row["step"] for row in rows), running_mean(values, smooth) if smooth else values, strict=True))


def draw(layout: OverStepsLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model a panel per measure, one line per arm.

    A measure that no run has (`false_working` of runs on published sets) has no panel.
    """
    from matplotlib.ticker import MaxNLocator

    frame = frames[0]
    measures = [measure for measure in layout.measures if (frame["measure"] == measure.written).any()]
    models, styles = list(dict.fromkeys(frame["model"])), looks(frame["arm"], layout)
    figure, blocks = grid([len(measures)] * len(models), height=2.1)
    for block, model in zip(blocks, models, strict=True):
        for axes, measure in zip(block, measures, strict=True):
            rows = frame[(frame["model"] == model) & (frame["measure"] == measure.written)]
            for place, (arm, cell) in enumerate(rows.groupby("arm", sort=False)):
                _training.draw_line(axes, cell, styles[str(arm)], place, rows["arm"].nunique())
            axes.set(xlabel="training step", ylabel=measure.label)
            if len(rows):
                first = measure is layout.measures[0]
                numbers = [point.value for point in layout.published] if first else []
                _cut(axes, pd.concat([rows["value"], pd.Series(numbers, dtype=float)]), share=measure.share)
                if first:
                    _training.draw_published(axes, layout, set(rows["arm"]), rows["step"].max(), styles)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            if len(models) > 1:
                axes.set_title(str(rows["stand_in"].iloc[0]) if len(rows) else model)
    legend(figure)
    return figure


def _cut(axes: Axes, values: pd.Series, *, share: bool) -> None:
    """Sets the y-limits: they may cut wide intervals of few seeds, but no curve."""
    low, high = values.min(), values.max()
    margin = max(0.25 * (high - low), 1e-3)
    bottom = low - margin if low < 0 else max(0.0, low - margin)
    axes.set_ylim(bottom, min(1.0, high + margin) if share else high + margin)


FIGURE = _training.TrainingKind(
    config=Config,
    layout=OverStepsLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    claims=curve_claims.CLAIMS,
    floats=f"%.{DIGITS}g",
    draw=draw,
    caption=CAPTION,
)

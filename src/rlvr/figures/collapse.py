"""Collapsed runs, one line per run: prompts without a correct response, or accuracy on held-out problems.

Source: A-GRAE, Figure 9.
"""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from rlvr.config.layers import ConfigError
from rlvr.config.measures import METRICS, PROBE
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.settings import Collapse
from rlvr.figures import _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, below
from rlvr.items.layout import collapse_rule, filled
from rlvr.items.scope import Scope
from rlvr.statistics.collapse import of_run, steps_of, unsolved_shares
from rlvr.statistics.run_rows import RunRows, cell_columns, in_range, running_mean, value_of

CAPTION = "A line per run."
FAINT = "#a8a8a8"
UNSOLVED = "unsolved"  # of each step; the others are of probes
LABELS = {
    UNSOLVED: "share of prompts without\na correct response",
    "greedy": "greedy pass rate on\nheld-out problems",
    "pass_rate": "pass rate on\nheld-out problems",
}


class Config(_training.WithPublished):
    measure: Literal[tuple(LABELS)] = UNSOLVED  # type: ignore[valid-type]


def expand(name: str, config: Config, scope: Scope) -> Item:
    item = _training.expand(name, config, scope)
    probes = [scope.plan.runs[run].probe for cell in item.cells for run, _ in cell.policies]
    if config.measure != UNSOLVED and not all(probe.problems for probe in probes):
        raise ConfigError(f"{scope.place}.measure: {config.measure!r} needs held-out problems (probe.problems)")
    if config.measure == "greedy" and not all(probe.greedy for probe in probes):
        raise ConfigError(f"{scope.place}.measure: 'greedy' needs probe.greedy: true in the settings of every arm")
    return item


class CollapseLayout(_training.TrainingLayout):
    collapse: Collapse
    measure: str = UNSOLVED


def lay_out(item: Item, plan: Plan, paper: str) -> CollapseLayout:
    return filled(CollapseLayout, item, plan, paper, collapse=collapse_rule(plan, paper))


def statistics(layout: CollapseLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, run and step: the measure, its running mean, whether the run collapsed.

    The rule of a collapse is of unsolved prompts, whatever the measure. One of probes has no running mean of its own.
    """
    rows = []
    for cell in layout.cells:
        for run in cell.policies:
            verdict = of_run(runs, run, layout.collapse)
            of_steps, values, means = _series(layout, runs[run], run)
            steps = in_range(of_steps, layout.up_to_step)
            rows += [
                {
                    **cell_columns(cell, [run]),
                    "step": step,
                    "measure": layout.measure,
                    "value": value,
                    "running_mean": mean,
                    "collapsed": verdict.collapsed,
                    "seeds": len(cell.policies),
                }
                for step, value, mean in zip(steps, values, means, strict=False)
            ]
    return pd.DataFrame(rows)


def _series(
    layout: CollapseLayout, rows: dict[str, list[dict[str, Any]]], run: str
) -> tuple[list[int], Sequence[float], Sequence[float]]:
    """The steps of a run, its values there and their running means."""
    if layout.measure == UNSOLVED:
        values = unsolved_shares(rows[METRICS], run)
        means = running_mean(values, steps_of(layout.collapse.window, len(values)))
        return [row["step"] for row in rows[METRICS]], values, means
    values = [value_of(row, layout.measure, run) for row in rows[PROBE]]
    return [row["step"] for row in rows[PROBE]], values, values


def draw(layout: CollapseLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one line per run, thin for each step, thick for its running mean."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    frame = frames[0]
    styles = looks(frame["arm"], layout)
    figure, panels = _training.panels(frame, height=2.0, sharex=True, sharey=True)
    highest = max([float(frame["value"].max()), *(point.value for point in layout.published)])
    for axes, cell, first in panels:
        tint = styles[str(cell["arm"].iloc[0])].color
        runs = [run for _, run in cell.groupby("policies", sort=False)]
        for run in sorted(runs, key=lambda run: bool(run["collapsed"].iloc[0])):  # collapsed runs on top
            colour = tint if run["collapsed"].iloc[0] else FAINT
            axes.plot(run["step"], run["value"], color=colour, linewidth=0.5, alpha=0.4)
            axes.plot(run["step"], run["running_mean"], color=colour, linewidth=1.5)
        _training.draw_published(axes, layout, set(cell["arm"]), cell["step"].max(), styles)
        collapsed = sum(bool(run["collapsed"].iloc[0]) for run in runs)
        axes.set_title(f"{axes.get_title()}: {collapsed} of {len(runs)} collapsed")
        axes.set(xlabel="training step", ylabel=LABELS[layout.measure] if first else None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(0, min(1.0, 1.05 * highest + 0.01))
    window = f"{100 * layout.collapse.window:g} % of the steps"
    words = f"a run (running mean over {window}; thin: each step)" if layout.measure == UNSOLVED else "a run"
    handles = [
        Line2D([], [], color=FAINT, linewidth=1.5, label=words),
        Line2D([], [], color="#1A1A1A", linewidth=1.5, label="a run that collapsed, in its method's colour"),
        *([Line2D([], [], color="#1A1A1A", **_training.CROSS)] if layout.published else []),
    ]
    below(figure, {str(handle.get_label()): handle for handle in handles})
    return figure


FIGURE = _training.TrainingKind(
    config=Config,
    expand=expand,
    layout=CollapseLayout,
    lay_out=lay_out,
    statistics=statistics,
    draw=draw,
    caption=CAPTION,
)

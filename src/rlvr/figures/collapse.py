"""Collapsed runs: the share of prompts without a correct response, one line per run (A-GRAE, Figure 9)."""

import pandas as pd

from rlvr.config.measures import METRICS
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.settings import Collapse
from rlvr.figures import _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, below
from rlvr.items.layout import collapse_rule, filled
from rlvr.statistics.collapse import of_run, steps_of, unsolved_shares
from rlvr.statistics.run_rows import RunRows, cell_columns, in_range, running_mean

CAPTION = "A line per run."
FAINT = "#a8a8a8"


class CollapseLayout(_training.TrainingLayout):
    collapse: Collapse


def lay_out(item: Item, plan: Plan, paper: str) -> CollapseLayout:
    return filled(CollapseLayout, item, plan, paper, collapse=collapse_rule(plan, paper))


def statistics(layout: CollapseLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, run and step: share of unsolved prompts, its running mean, whether the run collapsed."""
    rows = []
    for cell in layout.cells:
        for run in cell.policies:
            metrics, verdict = runs[run][METRICS], of_run(runs, run, layout.collapse)
            values = unsolved_shares(metrics, run)
            means = running_mean(values, steps_of(layout.collapse.window, len(values)))
            steps = in_range([row["step"] for row in metrics], layout.up_to_step)
            rows += [
                {
                    **cell_columns(cell, [run]),
                    "step": step,
                    "measure": "unsolved",
                    "value": value,
                    "running_mean": mean,
                    "collapsed": verdict.collapsed,
                    "seeds": len(cell.policies),
                }
                for step, value, mean in zip(steps, values, means, strict=False)
            ]
    return pd.DataFrame(rows)


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
        axes.set(xlabel="training step", ylabel="share of prompts without\na correct response" if first else None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(0, min(1.0, 1.05 * highest + 0.01))
    window = f"{100 * layout.collapse.window:g} % of the steps"
    handles = [
        Line2D([], [], color=FAINT, linewidth=1.5, label=f"a run (running mean over {window}; thin: each step)"),
        Line2D([], [], color="#1A1A1A", linewidth=1.5, label="a run that collapsed, in its method's colour"),
        *([Line2D([], [], color="#1A1A1A", **_training.CROSS)] if layout.published else []),
    ]
    below(figure, {str(handle.get_label()): handle for handle in handles})
    return figure


FIGURE = _training.TrainingKind(
    config=_training.WithPublished,
    layout=CollapseLayout,
    lay_out=lay_out,
    statistics=statistics,
    draw=draw,
    caption=CAPTION,
)

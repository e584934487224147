"""Figures of training: measures over steps, prompts by solve rate, masses by solve rate, runs that collapse."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rlvr.figures.looks import GREY, legend, looks

ACROSS = 5  # panels in a row; more arms go on in the next
# From no response correct to all of them: brown to violet (ColorBrewer's PuOr), told apart by every reader.
SHADES = {
    "0": "#b35806",
    "(0, 1/4]": "#fdb863",
    "(1/4, 1/2]": "#e6e6ee",
    "(1/2, 1)": "#b2abd2",
    "1": "#542788",
}
FAINT = "#a8a8a8"


def over_steps(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """A row a model, a column a measure, a line an arm with its interval over seeds."""
    frame, measures = frames[0], layout["measures"]
    models, styles = list(dict.fromkeys(frame["model"])), looks(frame["arm"], layout.get("arms", ()))
    band = 0.13 if len(styles) <= 4 else 0.08
    size = (4.2 * len(measures), 2.7 * len(models) + 0.7)
    figure, grid = plt.subplots(len(models), len(measures), figsize=size, squeeze=False)
    for row, model in enumerate(models):
        for axes, measure in zip(grid[row], measures, strict=True):
            own = frame[(frame["model"] == model) & (frame["measure"] == measure["written"])]
            for arm, cell in own.groupby("arm", sort=False):
                look = styles[str(arm)]
                axes.plot(
                    cell["step"],
                    cell["value"],
                    color=look.color,
                    linestyle=look.linestyle,
                    label=cell["label"].iloc[0],
                )
                axes.fill_between(cell["step"], cell["value_low"], cell["value_high"], color=look.color, alpha=band)
            axes.set(xlabel="training step", ylabel=measure["label"])
            if len(own):
                _cut(axes, own["value"], share=measure["share"])
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_title(str(own["stand_in"].iloc[0]) if len(own) else model)
    legend(figure, grid.flat)
    return figure


def _cut(axes: Axes, values: pd.Series, *, share: bool) -> None:
    """Wide intervals of few seeds are cut, the curves are not."""
    low, high = values.min(), values.max()
    margin = max(0.25 * (high - low), 1e-3)
    bottom = low - margin if low < 0 else max(0.0, low - margin)
    axes.set_ylim(bottom, min(1.0, high + margin) if share else high + margin)


def solve_rates(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Stacked shares of the prompts by their share of correct responses; panels of arms, models below each other."""
    figure, panels = _panels(frames[0], height=2.4, sharex=True, sharey=True)
    smooth = f"\nmean of last {layout['smooth']} steps" if layout.get("smooth") else ""
    drawn = []
    for axes, cell, first in panels:
        wide = cell.pivot(index="step", columns="bin", values="value")
        bins = [name for name in SHADES if name in wide]
        axes.stackplot(
            wide.index,
            [wide[name] for name in bins],
            colors=[SHADES[name] for name in bins],
            labels=[f"correct: {_in_words(name)}" for name in bins],
            edgecolor="white",
            linewidth=0.3,
        )
        axes.set(xlabel="training step", ylabel=f"share of prompts{smooth}" if first else None)
        begin, end = cell["step"].min(), cell["step"].max()
        axes.set(xlim=(begin, max(end, begin + 1)), ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(False)
        drawn.append(axes)
    legend(figure, drawn)
    return figure


def _in_words(name: str) -> str:
    return {"0": "none", "1": "all"}.get(name, name)


def masses(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Realised masses by solve rate with intervals over seeds, and closed forms; positive up, negative down."""
    frame = frames[0]
    styles = looks(frame["arm"], layout.get("arms", ()))
    figure, panels = _panels(frame, height=2.7, sharex=True)
    for axes, cell, first in panels:
        tint = styles[str(cell["arm"].iloc[0])].color
        axes.axhline(0, color="0.6", linewidth=0.8)
        for side, sign in (("positive", 1), ("negative", -1)):
            own = cell[cell["side"] == side]
            _closed(axes, own, sign, tint)
            points = own[own["form"] == "realised"]
            below, above = points["value"] - points["value_low"], points["value_high"] - points["value"]
            errors = [below.fillna(0.0), above.fillna(0.0)]
            style = {"color": tint, "fmt": "o", "markersize": 4, "elinewidth": 1.0, "zorder": 3}
            axes.errorbar(points["p"], sign * points["value"], yerr=errors if sign > 0 else errors[::-1], **style)
        reach = {side: float(cell.loc[cell["side"] == side, "value"].max()) for side in ("positive", "negative")}
        largest = max(*reach.values(), 1e-6)
        axes.set_ylim(-1.25 * max(reach["negative"], 0.1 * largest), 1.25 * max(reach["positive"], 0.1 * largest))
        axes.set(xlabel="solve rate of a group", xlim=(-0.03, 1.03))
        axes.set_ylabel("gradient mass\n← negative   positive →" if first else None)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):g}"))
    _legend_of_masses(figure, frame)
    return figure


def _closed(axes: Axes, own: pd.DataFrame, sign: int, tint: str) -> None:
    for form, style in (("own", {"color": tint, "linewidth": 1.4}), ("grpo", {"color": GREY, "linestyle": "--"})):
        line = own[own["form"] == form]
        axes.plot(line["p"], sign * line["value"], **style)


def _legend_of_masses(figure: Figure, frame: pd.DataFrame) -> None:
    handles = [Line2D([], [], color=GREY, marker="o", linestyle="", label="realised, mean over steps")]
    if (frame["form"] == "own").any():
        handles.append(Line2D([], [], color="#1A1A1A", linewidth=1.4, label="closed form of the method's weights"))
    if (frame["form"] == "grpo").any():
        words = "GRPO's closed form, for orientation: the method's weights depend on more than the solve rate"
        handles.append(Line2D([], [], color=GREY, linestyle="--", label=words))
    wide = figure.get_figwidth() > 12.5
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles) if wide else 1)


def collapse(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Share of prompts without a correct response, a line a run: thin each step, thick its running mean."""
    frame = frames[0]
    styles = looks(frame["arm"], layout.get("arms", ()))
    figure, panels = _panels(frame, height=2.4, sharex=True, sharey=True)
    highest = float(frame["value"].max())
    for axes, cell, first in panels:
        tint = styles[str(cell["arm"].iloc[0])].color
        runs = [run for _, run in cell.groupby("policies", sort=False)]
        for run in sorted(runs, key=lambda run: bool(run["collapsed"].iloc[0])):  # those that collapsed on top
            of_run = tint if run["collapsed"].iloc[0] else FAINT
            axes.plot(run["step"], run["value"], color=of_run, linewidth=0.5, alpha=0.4)
            axes.plot(run["step"], run["running_mean"], color=of_run, linewidth=1.5)
        collapsed = sum(bool(run["collapsed"].iloc[0]) for run in runs)
        axes.set_title(f"{axes.get_title()}: {collapsed} of {len(runs)} collapsed")
        axes.set(xlabel="training step", ylabel="share of prompts without\na correct response" if first else None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(0, min(1.0, 1.05 * highest + 0.01))
    window = f"{100 * layout['collapse']['window']:g} % of the steps"
    handles = [
        Line2D([], [], color=FAINT, linewidth=1.5, label=f"a run (running mean over {window}; thin: each step)"),
        Line2D([], [], color="#1A1A1A", linewidth=1.5, label="a run that collapsed, in its method's colour"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if figure.get_figwidth() > 7 else 1)
    return figure


def _panels(
    frame: pd.DataFrame, *, height: float, **shared: Any
) -> tuple[Figure, Iterator[tuple[Axes, pd.DataFrame, bool]]]:
    """A panel an arm, titled, a row or more a model; each with its rows, and whether it is the first of its row."""
    models = list(dict.fromkeys(frame["model"]))
    arms = max(frame.loc[frame["model"] == model, "arm"].nunique() for model in models)
    lines = -(-arms // ACROSS)  # rows of panels a model
    across = -(-arms // lines)
    size = (max(2.5 * across + 0.6, 4.6), height * lines * len(models) + 0.9)
    figure, grid = plt.subplots(lines * len(models), across, figsize=size, squeeze=False, **shared)

    def each() -> Iterator[tuple[Axes, pd.DataFrame, bool]]:
        for number, model in enumerate(models):
            own = frame[frame["model"] == model]
            cells = [cell for _, cell in own.groupby("arm", sort=False)]
            places = grid[number * lines : (number + 1) * lines].flatten()
            for place, axes in enumerate(places):
                if place >= len(cells):
                    axes.set_visible(False)
                    continue
                axes.tick_params(labelbottom=True)
                title = str(cells[place]["label"].iloc[0])
                several = f"{own['stand_in'].iloc[0]}\n" if len(models) > 1 and place % across == 0 else ""
                axes.set_title(several + title)
                yield axes, pd.DataFrame(cells[place]), place % across == 0

    return figure, each()

"""Closed forms as curves."""

import itertools
from functools import partial
from typing import Any, Literal

import pandas as pd

from rlvr.config.plan import Item, Plan
from rlvr.figures._looks import Look, named
from rlvr.figures._panels import Figure, grid
from rlvr.items import FIGURES, FigureKind, closed_forms
from rlvr.items.layout import filled

COLOURS = ("blue", "orange", "vermilion", "green", "pink", "sky", "brown", "black")


class Config(closed_forms.ClosedForms):
    lines: dict[Literal["solid", "dashed"], str] = {}  # what they are, where a label has both


class CurvesLayout(closed_forms.ClosedFormsLayout):
    lines: dict[str, str] = {}
    colors: dict[str, str] = {}  # by label


def lay_out(item: Item, plan: Plan, paper: str) -> CurvesLayout:
    arms = plan.papers[paper].paper.arms
    colors = {(arm.label or name).casefold(): arm.color for name, arm in arms.items() if arm.color}
    return filled(CurvesLayout, item, plan, paper, colors=colors)


def draw(layout: CurvesLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per group of lines, with its legend below it; a single line needs none."""
    frame = frames[0].assign(panel=frames[0]["panel"].astype(object).fillna(""))
    panels = list(dict.fromkeys(frame["panel"]))
    figure, (block,) = grid([len(panels)], height=3.0, least=2.9)
    for axes, panel in zip(block, panels, strict=True):
        rows = frame[frame["panel"] == panel]
        styles, drawn = _looks(list(dict.fromkeys(rows["label"])), layout.colors), set()
        for place, ((label, style), line) in enumerate(rows.groupby(["label", "style"], sort=False)):
            shown: dict[str, Any] = styles[str(label)].curve(len(line), place)
            shown["linestyle"] = "--" if style == "dashed" else "-"
            if len(styles) == 1:
                shown["marker"] = ""
            axes.plot(line["x"], line["y"], label=None if label in drawn else label, **shown)
            drawn.add(label)
        axes.set(xlabel=rows["x_label"].iloc[0], ylabel=rows["y_label"].iloc[0], title=panel)
        if rows.groupby("label")["style"].nunique().max() > 1:
            for style in (style for style in ("solid", "dashed") if style in layout.lines):
                axes.plot([], [], color="0.3", linestyle=style, label=layout.lines[style])
        if len(drawn) > 1:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return figure


def _looks(labels: list[str], colors: dict[str, str]) -> dict[str, Look]:
    """The look of each line: a method has its colour of the paper's other figures."""
    own = {label: colors[label.casefold()] for label in labels if label.casefold() in colors}
    free = itertools.cycle(color for color in COLOURS if color not in own.values())
    return {label: named(own[label] if label in own else next(free)) for label in labels}


FIGURE = FigureKind(
    config=Config,
    layout=CurvesLayout,
    expand=partial(closed_forms.expand, FIGURES),
    lay_out=lay_out,
    statistics=closed_forms.statistics,
    floats=closed_forms.FLOATS,
    every_scale=True,
    draw=draw,
    caption=closed_forms.SAME,
)

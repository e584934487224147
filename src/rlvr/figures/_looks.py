"""Colours and lines of methods, the same in all figures of a paper, and legends."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlvr.config.colors import COLORS
from rlvr.config.plan import Plan

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # a plan loads the kinds of figures, and no matplotlib for it
    Artist = Axes = Figure = Any

LINES = ("-", "--", "-.", ":")
OTHERS = ("brown", "cyan", "olive", "black", "purple", "wine", "vermilion", "green", "pink", "sky", "orange")
FADING = 0.65  # how far the palest variant of a method fades towards white


@dataclass(frozen=True)
class Look:
    color: str
    linestyle: str = "-"


BASE = {"base": Look(COLORS["grey"], "--"), "blind": Look(COLORS["grey"], ":")}


def with_looks(plan: Plan, paper: str) -> dict[str, Any]:
    """The layout's keys that give a method the same look in all figures of its paper."""
    arms = plan.papers[paper].paper.arms
    return {"arms": [[name, arm.color] for name, arm in arms.items()], "methods": plan.papers[paper].methods}


def looks(arms: Iterable[str], layout: dict[str, Any]) -> dict[str, Look]:
    """The look of each arm in a figure. The layout has all arms of the paper, and the method of each swept arm.

    An arm has the colour that its paper gives it, else a free one; equal colours have different lines. Variants of a
    method (a sweep) have its colour, from pale to full, and different lines.
    """
    arms, method_of, color_of = list(dict.fromkeys(arms)), layout.get("methods", {}), dict(layout.get("arms", ()))
    methods = list(dict.fromkeys(method_of.get(arm, arm) for arm in (*color_of, *arms)))
    look_of = BASE | _chosen({name: color for name, color in color_of.items() if color is not None})
    others = [name for name in methods if name not in look_of]
    look_of |= dict(zip(others, itertools.cycle(_free(set(look_of.values()))), strict=False))
    variants = {name: [arm for arm in arms if method_of.get(arm, arm) == name] for name in methods}
    return {arm: _variant(look_of[method_of.get(arm, arm)], variants[method_of.get(arm, arm)], arm) for arm in arms}


def _chosen(color_of: dict[str, str]) -> dict[str, Look]:
    """The looks of arms with a colour; arms with the same one have different lines, in order."""
    lines = {color: itertools.cycle(LINES) for color in color_of.values()}
    return {name: Look(COLORS[color], next(lines[color])) for name, color in color_of.items()}


def _free(used: set[Look]) -> list[Look]:
    """Unused looks, first those with unused colours."""
    colors = {look.color for look in used}
    turns, others = range(len(LINES)), [COLORS[name] for name in OTHERS]
    all_looks = [Look(color, LINES[(i + turn) % len(LINES)]) for turn in turns for i, color in enumerate(others)]
    return sorted((look for look in all_looks if look not in used), key=lambda look: look.color in colors)


def _variant(look: Look, variants: list[str], arm: str) -> Look:
    from matplotlib.colors import to_hex, to_rgb

    if len(variants) == 1:
        return look
    place = variants.index(arm)
    pale = FADING * (1 - place / (len(variants) - 1))
    red, green, blue = to_rgb(look.color)
    mixed = to_hex((red + (1 - red) * pale, green + (1 - green) * pale, blue + (1 - blue) * pale))
    return Look(mixed, LINES[(len(variants) - 1 - place) % len(LINES)])


def nothing(text: str) -> Figure:
    """A figure that says in one sentence why there is nothing to draw."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 1.2))
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", wrap=True)
    return figure


def in_rows(grid: Any, rows: dict[Any, list[Any]]) -> Iterator[tuple[Axes, Any, Any]]:
    """The panel of each (row, entry) of a grid, which is as wide as its longest row; hides the others."""
    for line, (row, entries) in zip(grid, rows.items(), strict=True):
        for axes in line[len(entries) :]:
            axes.set_visible(False)
        for axes, entry in zip(line, entries, strict=False):
            yield axes, row, entry


def legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with as many columns as fit the figure's width, at most seven."""
    handles: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return
    for most in range(min(7, len(handles)), 0, -1):
        columns = math.ceil(len(handles) / math.ceil(len(handles) / most))  # as even as that number of rows allows
        made = figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)
        if columns == 1 or made.get_window_extent().width <= figure.bbox.width:
            return
        made.remove()

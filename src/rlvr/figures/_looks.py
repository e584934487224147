"""Colours and lines of methods, the same in all figures of a paper, and legends."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlvr.config.plan import Plan

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # a plan loads the kinds of figures, and no matplotlib for it
    Artist = Axes = Figure = Any

# Okabe and Ito's colours, which colour-blind readers can distinguish.
GREY, BLUE, ORANGE, VERMILION, GREEN, PINK, SKY = (
    *("#7f7f7f", "#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
)
BROWN, CYAN, OLIVE, BLACK, PURPLE, WINE = "#8C564B", "#17BECF", "#BCBD22", "#1A1A1A", "#7B3294", "#882255"
LINES = ("-", "--", "-.", ":")
FADING = 0.65  # how far the palest variant of a method fades towards white


@dataclass(frozen=True)
class Look:
    color: str
    linestyle: str = "-"


# Methods of several figures. Methods with equal or close colours have different lines.
FIXED = {
    "base": Look(GREY, "--"),
    "grpo": Look(BLUE),
    "dapo": Look(ORANGE),
    "ace_grpo": Look(VERMILION),
    "ace_dapo": Look(GREEN),
    "ace_grpo_sum": Look(PINK),
    "ace_dapo_sum": Look(SKY),
    "lens": Look(WINE),
    "a_grae": Look(VERMILION),
    "a_grae_grpo": Look(VERMILION),
    "a_grae_dapo": Look(VERMILION, "--"),
    "fade": Look(PINK),
    "pacs": Look(PURPLE),
    "ppo": Look(BLACK, ":"),
    "dr_grpo": Look(SKY, "-."),
    "rloo": Look(BROWN, "-."),
    "positive_dominant": Look(PINK),
    "negative_dominant": Look(GREEN),
    "hard_focused": Look(SKY, "--"),
    "easy_focused": Look(BROWN, "--"),
    "w_reinforce": Look(OLIVE),
    "nsr": Look(BLACK),
    "psr": Look(PURPLE, "--"),
    "grpo_lead": Look(CYAN, "-."),
}
OTHERS = (BROWN, CYAN, OLIVE, BLACK, PURPLE, WINE, VERMILION, GREEN, PINK, SKY, ORANGE)


def with_looks(plan: Plan, paper: str) -> dict[str, Any]:
    """The layout's keys that give a method the same look in all figures of its paper."""
    return {"arms": list(plan.papers[paper].paper.arms), "methods": plan.papers[paper].methods}


def looks(arms: Iterable[str], layout: dict[str, Any]) -> dict[str, Look]:
    """The look of each arm in a figure. The layout has all arms of the paper, and the method of each swept arm.

    Variants of a method (a sweep) have its colour, from pale to full, and different lines.
    """
    arms, method_of = list(dict.fromkeys(arms)), layout.get("methods", {})
    methods = list(dict.fromkeys(method_of.get(arm, arm) for arm in (*layout.get("arms", ()), *arms)))
    look_of = {name: FIXED[name] for name in methods if name in FIXED}
    unknown = [name for name in methods if name not in FIXED]
    look_of |= dict(zip(unknown, itertools.cycle(_free(set(look_of.values()))), strict=False))
    variants = {name: [arm for arm in arms if method_of.get(arm, arm) == name] for name in methods}
    return {arm: _variant(look_of[method_of.get(arm, arm)], variants[method_of.get(arm, arm)], arm) for arm in arms}


def _free(used: set[Look]) -> list[Look]:
    """Unused looks, first those with unused colours."""
    colors = {look.color for look in used}
    all_looks = [
        Look(color, LINES[(i + turn) % len(LINES)]) for turn in range(len(LINES)) for i, color in enumerate(OTHERS)
    ]
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


def legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with as many columns as fit the figure's width, at most seven."""
    handles: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return
    widths = [0.55 + 0.068 * len(label) for label in handles]  # inches

    def width(columns: int) -> float:
        deep = math.ceil(len(widths) / columns)  # matplotlib fills one column after another
        return sum(max(widths[i : i + deep]) for i in range(0, len(widths), deep))

    fits = [columns for columns in range(1, min(7, len(handles)) + 1) if width(columns) <= figure.get_figwidth()]
    rows = math.ceil(len(handles) / max([1, *fits]))
    columns = math.ceil(len(handles) / rows)  # as even as that number of rows allows
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)

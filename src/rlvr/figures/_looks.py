"""Colours, lines and markers of methods, the same in all figures of a paper."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rlvr.config.colors import COLORS
from rlvr.config.layouts import Looks

# A line has its own filling of the marker, a colour its own marker: grey and black print tell methods apart.
LINES = {"-": "full", "--": "none", "-.": "left", ":": "top"}
MARKERS = dict(zip(COLORS, ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d"), strict=True))
OTHERS = ("brown", "cyan", "olive", "black", "purple", "wine", "vermilion", "green", "pink", "sky", "orange")
FADING = 0.65  # how far the palest variant of a method fades towards white
MARKED = 12  # points of a curve up to which each has its marker; of a longer one about half as many


@dataclass(frozen=True)
class Look:
    color: str
    linestyle: str = "-"
    marker: str = "o"

    @property
    def point(self) -> dict[str, Any]:
        """The style of single points."""
        fill = {"fillstyle": LINES[self.linestyle], "markerfacecoloralt": "white"}
        return {"color": self.color, "marker": self.marker, **fill}

    def curve(self, points: int, place: int = 0) -> dict[str, Any]:
        """The style of a curve of so many points; the markers of long curves begin at their own `place`."""
        every = 1 if points <= MARKED else -(-2 * points // MARKED)
        start = (place * max(1, every // 5)) % every
        return {**self.point, "linestyle": self.linestyle, "markevery": (start, every)}


def named(color: str, linestyle: str = "-") -> Look:
    """The look of a colour of `rlvr.config.colors`, with its marker."""
    return Look(COLORS[color], linestyle, MARKERS[color])


BASE = {"base": named("grey", "--"), "blind": named("grey", ":"), "lookup": named("grey", "-.")}


def looks(arms: Iterable[str], layout: Looks) -> dict[str, Look]:
    """The look of each arm in a figure. The layout has all arms of the paper, and the method of each swept arm.

    An arm has the colour that its paper gives it, else a free one. A colour has a marker; equal colours have different
    lines. Variants of a method (a sweep) have its colour, from pale to full, and different lines and markers.
    """
    arms, method_of, color_of = list(dict.fromkeys(arms)), layout.methods, dict(layout.arms)
    methods = list(dict.fromkeys(method_of.get(arm, arm) for arm in (*color_of, *arms)))
    look_of = BASE | _chosen({name: color for name, color in color_of.items() if color is not None})
    others = [name for name in methods if name not in look_of]
    look_of |= dict(zip(others, itertools.cycle(_free(set(look_of.values()))), strict=False))
    variants = {name: [arm for arm in arms if method_of.get(arm, arm) == name] for name in methods}
    return {arm: _variant(look_of[method_of.get(arm, arm)], variants[method_of.get(arm, arm)], arm) for arm in arms}


def _chosen(color_of: dict[str, str]) -> dict[str, Look]:
    """The looks of arms with a colour; arms with the same one have different lines, in order."""
    lines = {color: itertools.cycle(LINES) for color in color_of.values()}
    return {name: named(color, next(lines[color])) for name, color in color_of.items()}


def _free(used: set[Look]) -> list[Look]:
    """Unused looks, first those with unused colours."""
    colors = {look.color for look in used}
    lines = list(LINES)
    all_looks = [named(color, lines[(i + turn) % 4]) for turn in range(4) for i, color in enumerate(OTHERS)]
    return sorted((look for look in all_looks if look not in used), key=lambda look: look.color in colors)


def _variant(look: Look, variants: list[str], arm: str) -> Look:
    from matplotlib.colors import to_hex, to_rgb

    if len(variants) == 1:
        return look
    place = variants.index(arm)
    pale = FADING * (1 - place / (len(variants) - 1))
    red, green, blue = to_rgb(look.color)
    mixed = to_hex((red + (1 - red) * pale, green + (1 - green) * pale, blue + (1 - blue) * pale))
    from_end = len(variants) - 1 - place  # the last has the method's own look
    markers = [look.marker, *(marker for marker in MARKERS.values() if marker != look.marker)]
    return Look(mixed, list(LINES)[from_end % len(LINES)], markers[from_end % len(markers)])

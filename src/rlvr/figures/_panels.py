"""Panels in rows that wrap, so that no figure is wider than a page's text, and one legend for all of them."""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # a plan loads the kinds of figures, and no matplotlib for it
    Artist = Axes = Figure = Any

WIDTH = 6.75  # inches: the text of a page with two columns; a page with one has 5.5
NARROWEST = 4.0  # inches of a figure, for its legend
SMALL = 7.5  # points: the smallest text, 6.1 of them where a figure of WIDTH is 5.5 inches wide
LETTERS = 15  # of the text, per inch


def grid(
    blocks: Sequence[int], *, height: float, least: float = 2.2, most: float = 3.375, **shared: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure with a block of panels per number, each in as many lines as it needs, and the panels of each block.

    `height` is that of a panel; its width is from `least` to `most`, in inches. Only the last line of a block has
    fewer panels than the others.
    """
    import matplotlib.pyplot as plt

    across = columns(max(blocks), least)
    lines = [math.ceil(panels / across) for panels in blocks]
    size = (min(WIDTH, max(NARROWEST, most * across)), height * sum(lines) + 0.6)
    figure, all_axes = plt.subplots(sum(lines), across, figsize=size, squeeze=False, **shared)
    found, first = [], 0
    for panels, count in zip(blocks, lines, strict=True):
        axes = list(all_axes[first : first + count].flat)
        for unused in axes[panels:]:
            unused.set_visible(False)
        found.append(axes[:panels])
        first += count
    return figure, found


def columns(panels: int, least: float) -> int:
    """The panels of a line, each at least so many inches wide, for the fewest lines of about equal length."""
    lines = math.ceil(panels / max(1, int(WIDTH / least)))
    return math.ceil(panels / lines)


def starts_line(axes: Axes) -> bool:
    """Whether a panel is the first of its line."""
    place = axes.get_subplotspec()
    return place is not None and place.is_first_col()


def error_bars(rows: pd.DataFrame) -> list[pd.Series]:
    """How far the intervals of rows reach below and above their values."""
    return [rows["value"] - rows["value_low"], rows["value_high"] - rows["value"]]


def legend(figure: Figure) -> None:
    """One legend below all panels; none for a single line, which its axis names."""
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) > 1:
        below(figure, handles)


def below(figure: Figure, handles: dict[str, Artist]) -> None:
    """A legend below all panels, with as many columns as fit the figure's width, at most seven."""
    labels = [fill(label, int(LETTERS * figure.get_figwidth()) - 6) for label in handles]
    for most in range(min(7, len(handles)), 0, -1):
        across = math.ceil(len(handles) / math.ceil(len(handles) / most))  # as even as that number of rows allows
        made = figure.legend(list(handles.values()), labels, loc="outside lower center", ncols=across)
        if across == 1 or made.get_window_extent().width <= figure.bbox.width:
            return
        made.remove()


def nothing(text: str) -> Figure:
    """A figure that says in one sentence why there is nothing to draw."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(NARROWEST, 1.0))
    axes.set_axis_off()
    axes.text(0.5, 0.5, fill(text, int(LETTERS * NARROWEST)), ha="center", va="center")
    return figure

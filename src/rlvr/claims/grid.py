"""All claims in one picture: papers x claims x (the paper's own numbers, the verdict at each scale and effort)."""

import math
import textwrap
from itertools import chain, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rlvr.claims.verdicts import (
    APART,
    BY_PART,
    CONTRADICTED,
    EQUIVALENT,
    HOLDS,
    INCONCLUSIVE,
    NOT_EXERCISED,
    NOT_RUN,
    OPPOSITE,
    SMALLER,
    UNDECIDED,
    UNJUDGED,
)
from rlvr.config.colors import COLORS
from rlvr.files import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # tables of claims need no matplotlib
    Axes = Figure = Any

PUBLISHED = "paper's\nnumbers"
IN_ITS_TABLE = {  # marker, colour
    "holds in its own table": ("s", "blue"),
    "does not hold in its own table": ("x", "orange"),
    "no published numbers": (".", "grey"),
}
LOOKS = [  # of verdicts: marker, colour, filled, words
    (HOLDS, "o", "green", True),
    ((CONTRADICTED, OPPOSITE), "v", "vermilion", True),
    ((SMALLER,), "v", "vermilion", False),
    ((APART,), "X", "vermilion", True),
    ((EQUIVALENT,), "s", "vermilion", False),
    ((INCONCLUSIVE, UNDECIDED), "o", "grey", False),
    ((BY_PART,), "d", "grey", False),
    ((NOT_EXERCISED,), "P", "purple", False),
    (tuple(verdict for verdict in UNJUDGED if verdict not in (NOT_EXERCISED, NOT_RUN)), "D", "purple", False),
    ((NOT_RUN,), "_", "grey", False),
]
COLUMN, ROW, TEXT = 0.62, 0.25, 4.1  # inches: a column at least, a row, and the words of a claim
LETTER = 0.07  # inches of a column for a letter of its heading
ABOVE, ENTRY, LINE = 0.95, 2.1, 0.24  # inches: heads of columns; an entry of the legend, and a line of entries
LETTERS, LINES = 62, 2  # of a claim
ACROSS = 3  # papers side by side


def draw(frame: pd.DataFrame) -> Figure:
    """The picture of a table of claims (`rlvr.claims.table.gather`)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if frame.empty:
        figure = plt.figure(figsize=(4, 1))
        figure.text(0.5, 0.5, "No claim was judged.", ha="center", va="center")
        return figure
    efforts = list(dict.fromkeys(zip(frame["scale"], frame["effort"], strict=True)))
    papers = {str(short): claims for short, claims in frame.groupby("short", sort=False)}
    stacks = _stacks({short: ABOVE + ROW * claims["claim"].nunique() for short, claims in papers.items()})
    marks = _marks(efforts)
    entries = _legend(frame)
    across = min(len(entries), int((TEXT + marks) * len(stacks) / ENTRY))
    below = LINE * (math.ceil(len(entries) / across) + 1)
    width, height = (TEXT + marks) * len(stacks), below + max(sum(stack.values()) for stack in stacks)
    figure = plt.figure(figsize=(width, height))
    for i, stack in enumerate(stacks):
        top = height
        for short, tall in stack.items():
            left, bottom = (TEXT + marks) * i + TEXT, top - tall
            place = (left / width, bottom / height, marks / width, (tall - ABOVE) / height)
            _panel(figure.add_axes(place), short, papers[short], efforts)
            top -= tall
    figure.legend(handles=entries, loc="lower center", ncols=across, frameon=False, fontsize=9)
    return figure


def _stacks(heights: dict[str, float]) -> list[dict[str, float]]:
    """The papers side by side, at most ACROSS, and below each other where that adds least; the tallest are above."""
    stacks: list[dict[str, float]] = [{} for _ in range(min(ACROSS, len(heights)))]
    for short in sorted(heights, key=lambda short: -heights[short]):
        min(stacks, key=lambda stack: sum(stack.values()))[short] = heights[short]
    order = list(heights)
    return sorted(stacks, key=lambda stack: order.index(next(iter(stack))))


def what_ran(claims: pd.DataFrame) -> str:
    """The models and data of the deciding contrasts: "qwen2-chain on chain-easy, chain-hard"."""
    rows = claims.dropna(subset=["stand_in"])
    texts = []
    for model, of_model in rows.groupby("stand_in", sort=False):
        sets = ", ".join(sorted(dict.fromkeys(of_model["data"].dropna())))
        texts.append(f"{model} on {sets}" if sets else str(model))
    return "; ".join(texts)


def _panel(axes: Axes, short: str, claims: pd.DataFrame, efforts: list[tuple[str, str]]) -> None:
    names = list(dict.fromkeys(claims["claim"]))
    sentences = [claims[claims["claim"] == name]["says"].iloc[0] for name in names]
    axes.set(xlim=(-0.6, len(efforts) + 0.6), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), [_wrapped(text) for text in sentences], linespacing=0.95)
    axes.set_xticks(range(len(efforts) + 1), [PUBLISHED, *(_heading(scale, effort) for scale, effort in efforts)])
    axes.tick_params(length=0, labelsize=7.5, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.set_title(short, fontsize=11, pad=8)
    marks = _marks(efforts)
    axes.text(
        *(
            -TEXT / marks + 0.02,
            1 + 0.08 / (ROW * len(names)),
            textwrap.fill(what_ran(claims), LETTERS, break_on_hyphens=False),
        ),
        **{"transform": axes.transAxes, "fontsize": 7.5, "style": "italic", "va": "bottom"},
    )
    for side in axes.spines.values():
        side.set_visible(False)
    for y, (name, shade) in enumerate(zip(names, cycle((0.97, 1.0)), strict=False)):
        axes.axhspan(y - 0.5, y + 0.5, color=str(shade), zorder=0)
        own = claims[claims["claim"] == name]
        axes.plot(0, y, **_published(own["published"].iloc[0]))
        for x, effort in enumerate(efforts, 1):
            found = own[(own["scale"] == effort[0]) & (own["effort"] == effort[1])]
            for verdict in found["verdict"]:
                axes.plot(x, y, **_look(verdict))


def _wrapped(sentence: str) -> str:
    """The sentence in as few lines as it needs, of about equal length, at most LINES."""
    fewest = min(LINES, len(textwrap.wrap(sentence, LETTERS)))
    widths = range(len(sentence) // fewest, LETTERS)
    width = next((width for width in widths if len(textwrap.wrap(sentence, width)) <= fewest), LETTERS)
    return "\n".join(textwrap.wrap(sentence, width, max_lines=LINES, placeholder=" …"))


def _published(words: str) -> dict[str, Any]:
    marker, color = IN_ITS_TABLE[words]
    return _marker(marker, color, markersize=6, mew=2 if marker == "x" else 1)


def _marker(marker: str, color: str, **looks: Any) -> dict[str, Any]:
    return {"marker": marker, "color": COLORS[color], "linestyle": "", **looks}


def _heading(scale: str, effort: str) -> str:
    """A column's heading in lines that fit into it."""
    return scale.replace("-", "-\n") + ",\n" + effort.replace(" ", "\n", 1)


def _marks(efforts: list[tuple[str, str]]) -> float:
    """The width of a paper's columns: each holds the longest line of a heading."""
    lines = chain.from_iterable(_heading(scale, effort).split("\n") for scale, effort in efforts)
    return max(COLUMN, LETTER * max(map(len, lines))) * (1 + len(efforts))


def _look(verdict: str) -> dict[str, Any]:
    for verdicts, marker, color, filled in LOOKS:
        if verdict in verdicts:
            return _marker(marker, color, markersize=6.5, markerfacecolor=COLORS[color] if filled else "none")
    raise ValueError(f"no such verdict: {verdict!r}")


def _legend(frame: pd.DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D

    published = [
        Line2D([], [], label=words, **_published(words)) for words in IN_ITS_TABLE if words in set(frame["published"])
    ]
    found = [verdict for verdicts, *_ in LOOKS for verdict in verdicts if verdict in set(frame["verdict"])]
    return [*published, *(Line2D([], [], label=verdict, **_look(verdict)) for verdict in found)]


def publish(frame: pd.DataFrame, path: Path) -> None:
    """Write the picture; equal claims give an equal file."""
    with whole(path) as partial:
        draw(frame).savefig(partial, format=path.suffix[1:], dpi=130, metadata={"Software": None})

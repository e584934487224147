"""Curves: as characters for a terminal; two of one scale also as points of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlvr.show.comparison import ComparedCurve

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 32  # characters


def lines(curve: ComparedCurve) -> tuple[str, str]:
    """Both curves as blocks, of at most WIDTH characters, between the smallest and the largest value of both."""
    low, high = limits(curve)
    return blocks(curve.a, low, high), blocks(curve.b, low, high)


def points(curve: ComparedCurve, width: float, height: float) -> tuple[str, str]:
    """Both curves as the points of SVG polylines in a box of this size."""
    low, high = limits(curve)
    first, last = curve.steps[0], curve.steps[-1]

    def line(values: list[float]) -> str:
        xs = [width * (step - first) / max(1, last - first) for step in curve.steps]
        ys = [height * (1 - (value - low) / (high - low or 1)) for value in values]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))

    return line(curve.a), line(curve.b)


def limits(curve: ComparedCurve) -> tuple[float, float]:
    """The smallest and the largest value of both."""
    return min(*curve.a, *curve.b), max(*curve.a, *curve.b)


def blocks(values: Sequence[float], low: float, high: float, width: int = WIDTH) -> str:
    """Values as blocks of at most `width` characters, each the mean of neighbours; `low` is the lowest block."""
    cells = min(width, len(values))
    parts = [values[i * len(values) // cells : (i + 1) * len(values) // cells] for i in range(cells)]
    means = [sum(part) / len(part) for part in parts]
    return "".join(BLOCKS[round((len(BLOCKS) - 1) * (mean - low) / (high - low or 1))] for mean in means)

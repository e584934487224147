"""Intervals as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlvr.config.measures import Range

if TYPE_CHECKING:
    import pandas as pd

WITHHELD = "withheld"
MOST = 0.5  # of the possible range
WHY = "Withheld: an interval that covers more than half of the possible range. There are too few repetitions: {}."


def is_withheld(low: float, high: float, possible: Range) -> bool:
    """Whether an interval is too wide to say anything: it covers more than half of the possible range."""
    return high - low > MOST * (possible[1] - possible[0])


def brackets(low: float, high: float, form: str, possible: Range) -> str:
    """` [48.0, 56.2]`, ` [withheld]` for one that is too wide, nothing where there is none."""
    if math.isnan(low):
        return ""
    return f" [{WITHHELD}]" if is_withheld(low, high, possible) else f" [{low:{form}}, {high:{form}}]"


def over(seeds: int, problems: int | None = None) -> str:
    """`2 training seeds and 10 problems`."""
    parts = [_count(seeds, "training seed")] if seeds else []
    return " and ".join([*parts, *([_count(problems, "problem")] if problems else [])])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows by their columns' names."""
    return [{str(column): value for column, value in row.items()} for row in frame.to_dict("records")]


def direction(low: float, high: float) -> str:
    """What the interval of a difference says: higher, lower, or undecided (also of an interval that is withheld)."""
    return "higher" if low > 0 else "lower" if high < 0 else "undecided"

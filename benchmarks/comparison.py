"""Figures of `make bench` beside their goals and the last committed ones of the same kind of machine.

A file a kind of machine has the figures of each part with their date, commit and torch. Ratios of two things measured
in turn are judged: the kind decides them, however busy the machine is. Absolute figures are only shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlvr import provenance
from rlvr.files import publish_json
from rlvr.policies.native import library

# By which a ratio may be worse than the committed one: half again as much as two measurements of one commit differed by
# beside other work. That was up to 10 %, and 90 % on the clock (docs/benchmarks.md).
SCATTER = 0.15
RATIOS = ("times", "share")  # units of figures that may be judged
HEAD = "| figure | measured | goal | committed | change |\n|---|---|---|---|---|"


@dataclass(frozen=True)
class Figure:
    """One measured number. It should be at least or at most its goal; a judged one may not get worse."""

    name: str
    value: float
    unit: str
    words: str
    at_least: float | None = None
    at_most: float | None = None
    judged: bool = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"{self.name} is {self.value}")
        if self.judged and (self.unit not in RATIOS or self.value <= 0):
            raise ValueError(f"{self.name} is judged, so it must be a positive ratio: {self.value} {self.unit}")

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def change(self, committed: float) -> float:
        """The relative change since a committed value: 0.1 is a tenth more."""
        return self.value / committed - 1 if committed else 0.0

    def fell(self, committed: float) -> bool:
        """Whether a judged figure is worse than a committed value by more than SCATTER."""
        if not self.judged:
            return False
        better = committed / self.value if self.at_most is not None else self.value / committed
        return better < 1 - SCATTER


# ---- files ----


def kind_of(processor: str, level: str) -> str:
    """A machine's kind: the words of its processor's name, and the vector level of the native engine."""
    words = re.sub(r"\((r|tm)\)|@.*|\b\d+-core\b|\b(cpu|processor)\b", " ", processor.lower())
    return "-".join([*re.findall(r"[a-z0-9]+", words), level])


def kind_here() -> str:
    return kind_of(provenance.processor(), library.level())


def read(path: Path) -> dict[str, Any]:
    """The parts of a file of figures, by name; none where there is no file."""
    return json.loads(path.read_text())["parts"] if path.is_file() else {}


def write(path: Path, parts: dict[str, Any]) -> None:
    """Put parts into a file of figures; the others in it stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    publish_json(path, {"kind": path.stem, "parts": read(path) | parts})


def part(figures: Iterable[Figure], origin: dict[str, Any]) -> dict[str, Any]:
    """The entry of a part: where its figures come from, and the figures."""
    rows = [asdict(figure) | {"value": float(f"{figure.value:.6g}")} for figure in figures]
    return {**origin, "figures": rows}


def values(part: dict[str, Any]) -> dict[str, float]:
    return {figure["name"]: figure["value"] for figure in part["figures"]}


# ---- the table ----


def row(figure: Figure, committed: float | None) -> str:
    """A row of the table."""
    change = "" if committed is None else f"{figure.change(committed):+.0%}"
    if committed is not None and figure.fell(committed):
        change = f"**{change}, worse**"
    before = "" if committed is None else number(committed, figure.unit)
    cells = (f"`{figure.name}`: {figure.words}", with_unit(figure), goal(figure), before, change)
    return f"| {' | '.join(cells)} |"


def goal(figure: Figure) -> str:
    if figure.met is None:
        return ""
    direction, wanted = ("at most", figure.at_most) if figure.at_most is not None else ("at least", figure.at_least)
    assert wanted is not None
    return f"{direction} {number(wanted, figure.unit)}: {'reached' if figure.met else '**falls short**'}"


def with_unit(figure: Figure) -> str:
    text = number(figure.value, figure.unit)
    return text if figure.unit in ("share", "") else f"{text} {figure.unit}"


def number(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

"""A paper's statements, their checks, and the checks' findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "holds under a condition", "fails"]


@dataclass(frozen=True)
class Finding:
    """`deviation` is the largest difference between statement and computation, in the statement's own units.

    `detail` is the condition or a counterexample; under `reading`, another sense of the words, the statement holds.
    """

    deviation: float
    verdict: Verdict
    detail: str = ""
    reading: str = ""


@dataclass(frozen=True)
class Statement:
    """One row of the ledger: the statement in our words, its place in the paper, and its check."""

    paper: str
    place: str
    says: str
    how: str
    check: Callable[[], Finding]

    @property
    def name(self) -> str:
        return f"{self.paper.lower().replace('-', '')}.{self.check.__name__}"


class Chapter:
    """A paper's statements, in its order: functions under `@chapter.says(place, how)`, or those of its `sections`.

    A function's docstring is the statement in our words, `place` is where the paper makes it, `how` is how the function
    checks it. The ledger sorts chapters by their own `place`.
    """

    def __init__(self, paper: str, place: int = 0, sections: Iterable[Chapter] = ()):
        self.paper, self.place = paper, place
        self.statements: list[Statement] = [statement for section in sections for statement in section.statements]

    def says(self, place: str, how: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
        def note(check: Callable[[], Finding]) -> Callable[[], Finding]:
            words = " ".join((check.__doc__ or "").split())
            self.statements.append(Statement(self.paper, place, words, how, check))
            return check

        return note


def holds(deviation: float, tolerance: float = 1e-9, detail: str = "") -> Finding:
    """`holds` if the deviation is within rounding, else `fails`."""
    return Finding(deviation, "holds" if deviation <= tolerance else "fails", detail)


def conditional(deviation: float, outside: float, detail: str, tolerance: float = 1e-9) -> Finding:
    """`holds under a condition`: `deviation` is within rounding under it, `outside` is the deviation elsewhere."""
    if deviation > tolerance:
        return Finding(deviation, "fails", detail)
    return Finding(outside, "holds under a condition" if outside > tolerance else "holds", detail)


def fails(deviation: float, detail: str, reading: str = "", tolerance: float = 1e-9) -> Finding:
    """`fails`: a counterexample with this `deviation`; `holds` if the deviation is within rounding after all."""
    return Finding(deviation, "fails" if abs(deviation) > tolerance else "holds", detail, reading)

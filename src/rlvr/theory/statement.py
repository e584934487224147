"""A statement of a paper, how it is checked, and what the check found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "holds under a condition", "fails"]


@dataclass(frozen=True)
class Finding:
    """`deviation` is the largest difference between what is said and what is so, in the statement's own units.

    `detail` is the condition, or a counterexample that anyone can rerun; `reading`, one under which it holds.
    """

    deviation: float
    verdict: Verdict
    detail: str = ""
    reading: str = ""


@dataclass(frozen=True)
class Statement:
    """One row of the ledger: the statement in our words, its place, and the check."""

    paper: str
    place: str
    says: str
    how: str
    check: Callable[[], Finding]

    @property
    def name(self) -> str:
        return f"{self.paper.lower().replace('-', '')}.{self.check.__name__}"


class Chapter:
    """A paper's statements, in its order: `@chapter.says(place, words, how)` on each check, or those of its sections.

    `place` is the chapter's in the ledger.
    """

    def __init__(self, paper: str, place: int = 0, sections: Iterable[Chapter] = ()):
        self.paper, self.place = paper, place
        self.statements: list[Statement] = [statement for section in sections for statement in section.statements]

    def says(self, place: str, words: str, how: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
        def note(check: Callable[[], Finding]) -> Callable[[], Finding]:
            self.statements.append(Statement(self.paper, place, words, how, check))
            return check

        return note


def holds(deviation: float, tolerance: float = 1e-9, detail: str = "") -> Finding:
    """`holds` up to rounding, `fails` beyond it."""
    return Finding(deviation, "holds" if deviation <= tolerance else "fails", detail)


def conditional(deviation: float, outside: float, detail: str, tolerance: float = 1e-9) -> Finding:
    """Holds under the condition (`deviation` within it), and not outside (`outside` is the deviation there)."""
    if deviation > tolerance:
        return Finding(deviation, "fails", detail)
    return Finding(outside, "holds under a condition" if outside > tolerance else "holds", detail)


def fails(deviation: float, detail: str, reading: str = "", tolerance: float = 1e-9) -> Finding:
    """A counterexample: `deviation` must be beyond rounding, or the statement holds after all."""
    return Finding(deviation, "fails" if abs(deviation) > tolerance else "holds", detail, reading)

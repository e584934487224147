"""A statement of a paper, how it is checked, and what the check found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

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


# ---- a small softmax policy over a few answers, on which everything can be enumerated ----

LOGITS = torch.tensor([0.4, -0.3, 0.9, 0.1, -0.8], dtype=torch.float64)
RIGHT = torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float64)


def scores(pi: Tensor) -> Tensor:
    """grad log pi(y) by the logits, a row an answer."""
    return torch.eye(len(pi), dtype=pi.dtype) - pi


def gap(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


def outcomes(rollouts: int) -> Tensor:
    """All 2^G binary reward groups."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=rollouts)), dtype=torch.float64)


def by_successes(rollouts: int) -> Tensor:
    """One group for each number of successes, 0 to G."""
    return (torch.arange(rollouts) < torch.arange(rollouts + 1)[:, None]).double()


def class_masses(weights_PG: Tensor, rewards_PG: Tensor) -> tuple[Tensor, Tensor]:
    return (weights_PG * rewards_PG).mean(1), 0 - (weights_PG * (1 - rewards_PG)).mean(1)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)

"""The types of all contrasts: weighted terms, and an estimate with its intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rlvr.config.plan import Item
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics

if TYPE_CHECKING:  # a plan loads this module, and no pandas for it
    from rlvr.statistics.effort import Probes
    from rlvr.statistics.scores import Matrix, Scores

SEEDS = "training seeds"  # the unit of intervals that do not cover problems


@dataclass(frozen=True)
class Term:
    """One summand of a contrast."""

    weight: float
    arm: str
    k: int | None = None
    hard: bool = False


@dataclass(frozen=True)
class Contrast:
    """One part of a claim: a sum of terms on a model (and a benchmark) that should be above a threshold, or near 0."""

    says: str
    model: str
    benchmark: str | None
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Evidence:
    """The inputs of estimates: scores by policy and evaluation, and the rows of runs."""

    scores: Scores = field(default_factory=dict)
    probes: Probes = field(default_factory=dict)
    metrics: Probes = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A contrast's value, its interval, and a wider interval for all contrasts of its claim."""

    value: float
    low: float
    high: float
    low_of_all: float
    high_of_all: float
    seeds: int
    problems: int | None
    unit: str


def models(claim: Claim, item: Item) -> list[str]:
    """The models of a claim."""
    all_models = dict.fromkeys(cell.model for cell in item.cells)
    asked = {item.shown_by.get(model, model) for model in claim.models or all_models}
    return [model for model in all_models if model in asked]


def sums(claim: Claim, item: Item) -> list[tuple[str, dict[str, float]]]:
    """The weighted sums of arms of a claim, in words and as weights."""
    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    if claim.weights:
        parts = [f"{'−' if w < 0 else '+'} {abs(w):g} {labels.get(arm, arm)}" for arm, w in claim.weights.items()]
        return [(" ".join(parts).removeprefix("+ "), claim.weights)]
    pairs = list(pairwise(claim.arms)) or [(str(claim.left), right) for right in claim.right]
    return [(f"{labels.get(a, a)} − {labels.get(b, b)}", {a: 1.0, b: -1.0}) for a, b in pairs]


def of_runs(says: str, claim: Claim, item: Item) -> list[Contrast]:
    """One contrast per model and sum, without a benchmark; `says` is a format for the sum's words."""
    return [
        Contrast(says.format(text), model, None, tuple(Term(weight, arm) for arm, weight in weights.items()))
        for model in models(claim, item)
        for text, weights in sums(claim, item)
    ]


def half_width(values_S: Matrix, tail: float) -> float:
    """The half-width of Student's t interval of a mean over seeds."""
    from scipy import stats

    return float(stats.t.ppf(1 - tail, len(values_S) - 1) * stats.sem(values_S))


def tails(statistics: Statistics, count: int) -> tuple[float, float]:
    """The tail probability of an interval, and Bonferroni's for `count` contrasts."""
    tail = (1 - statistics.confidence) / 2
    return tail, tail / count


def seeds_of(terms: list[dict[str, Any]]) -> int:
    return max(len(term["policies"]) for term in terms)

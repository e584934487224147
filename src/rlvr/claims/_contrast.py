"""The types of all contrasts: weighted terms, and an estimate with its intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rlvr.config.measures import ANY, Range
from rlvr.config.plan import Item
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics

if TYPE_CHECKING:  # a plan loads this module, and no pandas for it
    from rlvr.statistics.joint import Cell
    from rlvr.statistics.scores import Scores

Rows = dict[str, list[dict[str, Any]]]  # of probes, metrics or changes of weights, by run
SEEDS = "training seeds"  # the unit of intervals that do not cover problems


@dataclass(frozen=True)
class Term:
    """One summand of a contrast."""

    weight: float
    arm: str
    k: int | None = None
    hard: bool = False
    benchmark: str | None = None  # of a mean over benchmarks; else the contrast's


@dataclass(frozen=True)
class Contrast:
    """One part of a claim: a sum of terms on a model (and a benchmark) that should be above a threshold, or near 0."""

    says: str
    model: str
    benchmark: str | None
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Evidence:
    """The inputs of estimates: scores and diversity by policy and evaluation, and the rows of runs."""

    scores: Scores = field(default_factory=dict)
    probes: Rows = field(default_factory=dict)
    metrics: Rows = field(default_factory=dict)
    weights: Rows = field(default_factory=dict)
    diversity: Scores = field(default_factory=dict)
    hidden: Rows = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A contrast's value, its interval, and a wider interval for all contrasts of its claim together.

    `p` is of "the claim does not hold here" (one-sided), `p_of_all` of "it holds here", adjusted for all contrasts.
    """

    value: float
    low: float
    high: float
    low_of_all: float
    high_of_all: float
    seeds: int
    problems: int | None
    unit: str
    p: float = float("nan")
    p_of_all: float = float("nan")


@dataclass(frozen=True)
class NotComparable:
    """Why a contrast has no verdict although it ran."""

    reason: str


def models(claim: Claim, item: Item) -> list[str]:
    """The models of a claim."""
    all_models = dict.fromkeys(cell.model for cell in item.cells)
    asked = {item.shown_by.get(model, model) for model in claim.models or all_models}
    return [model for model in all_models if model in asked]


def sums(claim: Claim, item: Item) -> list[tuple[str, dict[str, float]]]:
    """The weighted sums of arms of a claim, in words and as weights."""

    def part(weight: float, label: str) -> str:
        return f"{'−' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{label}"

    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    if claim.weights:
        parts = [part(weight, labels.get(arm, arm)) for arm, weight in claim.weights.items()]
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


def bound(claim: dict[str, Any]) -> float:
    """What a contrast must be above: the threshold, or minus it where the claim says `not_below`."""
    return -claim["threshold"] if claim["predicate"] == "not_below" else claim["threshold"]


def seeds_of(terms: list[dict[str, Any]]) -> int:
    """The number of training seeds of a contrast."""
    return max(len(rate["policies"]) for term in terms for rate in term["rates"])


@dataclass(frozen=True)
class Found:
    """A contrast's cell in a unit, and what it is over."""

    cell: Cell
    seeds: int
    problems: int | None
    unit: str
    possible: Range = ANY


def estimated(found: list[Found | NotComparable], claim: dict[str, Any]) -> list[Estimate | NotComparable]:
    """The estimates of a claim's contrasts in order, `with_joint_bounds` of those that can be compared."""
    bounds = iter(with_joint_bounds([one for one in found if isinstance(one, Found)], claim))
    return [next(bounds) if isinstance(one, Found) else one for one in found]


def with_joint_bounds(found: list[Found], claim: dict[str, Any]) -> list[Estimate]:
    """The estimates of a claim's contrasts, each with its own interval and with that of all together (max-t)."""
    import numpy as np

    from rlvr.statistics.joint import joint

    settings = Statistics.model_validate(claim["statistics"])
    options: dict[str, Any] = {"confidence": settings.confidence, "resamples": settings.resamples}
    together = joint([one.cell for one in found], **options, generator=np.random.default_rng(settings.seed))
    tail = (1 - settings.confidence) / 2
    near, threshold = claim["predicate"] == "within", bound(claim)
    estimates = []
    for i, (one, own, of_all) in enumerate(zip(found, together.spreads, together.half_widths(), strict=True)):
        half = own.half_width(tail)
        beyond = abs(own.mean) - threshold if near else threshold - own.mean
        p = max(own.p_above(-threshold), 1 - own.p_above(threshold)) if near else own.p_above(threshold)
        ends = (own.mean - half, own.mean + half, own.mean - of_all, own.mean + of_all)
        bounds = (float(end) for end in np.clip(ends, *one.possible))
        estimates.append(Estimate(own.mean, *bounds, one.seeds, one.problems, one.unit, p, together.p(i, beyond)))
    return estimates

"""What kinds of claims share: the models and sums of arms of a claim, and intervals of its contrasts together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from rlvr.config.measures import ANY, Range
from rlvr.config.plan import Item
from rlvr.config.schema.items import Claim
from rlvr.items.contrast import ClaimSpec, Contrast, Estimate, NotComparable, Term

if TYPE_CHECKING:  # a plan loads this module, and no pandas for it
    from rlvr.statistics.joint import ScoreCell

SEEDS = "training seeds"  # the unit of intervals that do not cover problems


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


def terms(weights: dict[str, float]) -> tuple[Term, ...]:
    """One term per arm."""
    return tuple(Term(weight, arm) for arm, weight in weights.items())


def of_runs(says: str, claim: Claim, item: Item) -> list[Contrast]:
    """One contrast per model and sum, without a benchmark; `says` is a format for the sum's words."""
    return _of_each(says, claim, item, [None])


def of_benchmarks(says: str, claim: Claim, item: Item) -> list[Contrast]:
    """The same for each benchmark."""
    return _of_each(says, claim, item, item.benchmarks)


def _of_each(says: str, claim: Claim, item: Item, benchmarks: Sequence[str | None]) -> list[Contrast]:
    return [
        Contrast(says.format(text), model, benchmark, terms(weights))
        for model, benchmark, (text, weights) in product(models(claim, item), benchmarks, sums(claim, item))
    ]


@dataclass(frozen=True)
class Found:
    """A contrast's cell in a unit, and what it is over."""

    cell: ScoreCell
    seeds: int
    problems: int | None
    unit: str
    possible: Range = ANY
    room: float = math.inf  # this and the next two as in an estimate
    at_bound: str = ""
    identical: bool = False


def identical(by_arm: Mapping[str, Any]) -> bool:
    """Whether several arms have equal results: what each measured, as arrays."""
    import numpy as np

    first, *others = by_arm.values()
    return bool(others) and all(np.array_equal(first, other, equal_nan=True) for other in others)


def estimated(found: list[Found | NotComparable], claim: ClaimSpec) -> list[Estimate | NotComparable]:
    """The estimates of a claim's contrasts in order, `with_joint_bounds` of those that can be compared."""
    bounds = iter(with_joint_bounds([one for one in found if isinstance(one, Found)], claim))
    return [next(bounds) if isinstance(one, Found) else one for one in found]


def with_joint_bounds(found: list[Found], claim: ClaimSpec) -> list[Estimate]:
    """The estimates of a claim's contrasts, each with its own interval and with that of all together (max-t)."""
    import numpy as np

    from rlvr.statistics.joint import joint

    settings = claim.statistics
    together = joint(
        [one.cell for one in found],
        confidence=settings.confidence,
        resamples=settings.resamples,
        generator=np.random.default_rng(settings.seed),
    )
    tail = (1 - settings.confidence) / 2
    estimates = []
    for i, (one, own, of_all) in enumerate(zip(found, together.spreads, together.half_widths(), strict=True)):
        half = own.half_width(tail)
        beyond = abs(own.mean) - claim.bound if claim.near else claim.refuted_below - own.mean
        p = max(own.p_above(-claim.bound), 1 - own.p_above(claim.bound)) if claim.near else own.p_above(claim.bound)
        inside = claim.margin - abs(own.mean - claim.no_effect) if claim.directional else 0.0
        ends = (own.mean - half, own.mean + half, own.mean - of_all, own.mean + of_all)
        low, high, low_of_all, high_of_all = (float(end) for end in np.clip(ends, *one.possible))
        over = (one.seeds, one.problems, one.unit)
        chances = {"p": p, "p_of_all": together.p(i, beyond), "p_equal": together.p(i, inside)}
        limits = {"room": one.room, "at_bound": one.at_bound, "identical": one.identical}
        estimates.append(Estimate(own.mean, low, high, low_of_all, high_of_all, *over, **chances, **limits))
    return estimates

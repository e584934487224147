"""Contrasts of the diversity of correct responses, in the measure's own unit, paired by training seed and problem.

Dimensions: S training seeds, C units of sampling (problems, or their clusters).
"""

from typing import Any

import numpy as np

from rlvr.claims.estimates import Found, estimated, of_benchmarks
from rlvr.claims.score_claims import UNIT
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.items.contrast import ClaimKind, ClaimSpec, Contrast, ContrastSpec, Estimate, Evidence, NotComparable
from rlvr.statistics.intervals import linearised
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.scores import matrix, problems_of

MEASURES = ("s_div", "distinct_at_m", "answer_entropy")
FEWEST = 0.05  # of the problems: where fewer have two different correct solutions, nothing can be diverse


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table lacks."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: a table of diversity needs one of {', '.join(MEASURES)}")
    look_up(MEASURES, claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "not_below", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k or hard levels, which diversity lacks")
    for benchmark in claim.benchmarks:
        look_up(item.benchmarks, benchmark, "benchmark", f"{place}.benchmarks")


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model, benchmark and sum of arms."""
    return of_benchmarks("{}", claim, item)


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Weighted sums over the problems that have the measure for every arm, seed by seed, with joint bounds.

    Not comparable where a problem has one correct solution and no other (`FEWEST`), or none has the measure.
    """
    return estimated([_found(contrast, str(claim.measure), inputs) for contrast in contrasts], claim)


def _found(contrast: ContrastSpec, measure: str, inputs: Evidence) -> Found | NotComparable:
    terms, evaluation = contrast.terms, contrast.terms[0].on
    frames = {p: inputs.diversity[p, evaluation] for term in terms for p in term.policies}
    problems_of(list(frames.values()), list(frames))
    several = max(float((frame["distinct"] > 1).mean()) for frame in frames.values())
    if several < FEWEST:
        return NotComparable(f"{100 * several:.0f} % of the problems have two different correct solutions")
    sum_SC: Any = 0.0
    for term in terms:
        of_policies = [frames[policy] for policy in term.policies]
        sum_SC = sum_SC + term.weight * matrix(of_policies, lambda frame: frame[measure].to_numpy(dtype=float))
    known_SC = linearised(np.broadcast_to(sum_SC, (contrast.seeds, sum_SC.shape[1])))
    if not len(known_SC):
        return NotComparable(f"no problem has {measure} for every method")
    problems = len(next(iter(frames.values())))
    return Found(ScoreCell(known_SC, contrast.model, evaluation), len(known_SC), problems, UNIT)


CLAIMS = ClaimKind(
    what="a table of diversity",
    reads=("benchmarks",),
    check=check,
    contrasts=contrasts,
    estimates=estimates,
    evidence="diversity",
    published={"s_div": "{} S_div"},
)

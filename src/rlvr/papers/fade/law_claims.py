"""Contrasts of laws of pass@k, with t over paired seeds.

The shifted power law is G(k) = exp(-a (k + c)^-b). Each law is fitted to the pass@k of each seed over all k of the
figure (`rlvr.papers.fade.scaling`). A claim's measure is one of G's parameters a, b and c, or one of the others:

- `power_excess`, `exponential_excess`: by how much the law lies above pass@k at the smallest k (FADE, sec. 12.2,
  "overestimate").
- `exponential_error`: log10 of the exponential law's mean squared error over G's; 0 is no difference. The power law has
  no such measure: it is G with c = 0, so that G's error is never the larger one.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rlvr.claims.estimates import SEEDS, Found, estimated, identical, of_benchmarks
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.items.contrast import (
    ClaimKind,
    ClaimSpec,
    Contrast,
    ContrastSpec,
    Estimate,
    Evidence,
    NotComparable,
    Spec,
    TermSpec,
)
from rlvr.papers.fade.scaling import LAWS, fit
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.scores import Scores, matrix, pass_at

LAW = "shifted power law"
PARAMETERS = LAWS[LAW].names
NO_ERROR = 1e-8  # of pass@k, squared: a hundredth of a point counts as none

Vector = np.ndarray


def _parameter(place: int, k: Vector, curve_K: Vector) -> float:
    return fit(LAW, k, curve_K).parameters[place]


def _excess(law: str, k: Vector, curve_K: Vector) -> float:
    return float(LAWS[law].function(k, *fit(law, k, curve_K).parameters)[0] - curve_K[0])


def _error(law: str, k: Vector, curve_K: Vector) -> float:
    return math.log10((fit(law, k, curve_K).mse + NO_ERROR) / (fit(LAW, k, curve_K).mse + NO_ERROR))


MEASURES: dict[str, Callable[[Vector, Vector], float]] = {
    **{name: partial(_parameter, place) for place, name in enumerate(PARAMETERS)},
    "power_excess": partial(_excess, "power law"),
    "exponential_excess": partial(_excess, "exponential law"),
    "exponential_error": partial(_error, "exponential law"),
}


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the figure lacks."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: laws need one of {', '.join(MEASURES)}")
    look_up(MEASURES, claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "not_below", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k or hard levels, which laws lack")
    if config.by_level:
        raise ConfigError(f"{place}.over: {claim.over} has one law per level; name a figure of all levels together")
    if len(config.k) < len(PARAMETERS):
        raise ConfigError(f"{place}.over: {claim.over} has {len(config.k)} k, fewer than the law has parameters")


class Options(Spec):
    k: tuple[int, ...]  # that laws are fitted to


def options(claim: Claim, item: Item, plan: Plan, paper: str) -> Options:
    return Options(k=item.content.k)  # type: ignore[attr-defined]


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model, benchmark and sum of arms."""
    measure = str(claim.measure).replace("_", " ")
    what = f"{measure} of the {LAW}" if claim.measure in PARAMETERS else f"{measure} of laws"
    return of_benchmarks(f"{{}}, {what}", claim, item)


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Sums of one measure of each seed's laws, with joint bounds. A base policy without seeds is compared with each."""
    found = []
    for contrast in contrasts:
        by_arm = {term.arm: _values(term, claim, inputs.scores) for term in contrast.terms}
        values_S = np.zeros(contrast.seeds)
        for term in contrast.terms:
            values_S = values_S + term.weight * by_arm[term.arm]
        cell = ScoreCell(values_S[:, None], contrast.model, None)
        found.append(Found(cell, len(values_S), None, SEEDS, identical=identical(by_arm)))
    return estimated(found, claim)


def _values(term: TermSpec, claim: ClaimSpec, scores: Scores) -> Vector:
    """The claim's measure of each policy's laws (S,)."""
    options = Options.model_validate(claim.options)
    frames = [scores[policy, term.on] for policy in term.policies]
    curves_SK = np.stack([matrix(frames, pass_at(k)).mean(axis=1) for k in options.k], axis=1)
    measure, ks = MEASURES[str(claim.measure)], np.array(options.k, float)
    return np.array([measure(ks, curve_K) for curve_K in curves_SK])


CLAIMS = ClaimKind(what="a figure of laws", check=check, contrasts=contrasts, estimates=estimates, options=options)

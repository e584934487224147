"""Contrasts of a parameter of the shifted power law of pass@k, G(k) = exp(-a (k + c)^-b), with t over paired seeds.

The law is fitted to the pass@k of each seed over all k of the figure (`rlvr.papers.fade.scaling`).
"""

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


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the figure lacks."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: laws need one of {', '.join(PARAMETERS)}")
    look_up(dict.fromkeys(PARAMETERS), claim.measure, "parameter", f"{place}.measure")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k or hard levels, which parameters lack")
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
    return of_benchmarks(f"{{}}, {claim.measure} of the {LAW}", claim, item)


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Sums of one parameter of each seed's law, with joint bounds. A base policy without seeds stands beside each."""
    found = []
    for contrast in contrasts:
        by_arm = {term.arm: _parameters(term, claim, inputs.scores) for term in contrast.terms}
        values_S = np.zeros(contrast.seeds)
        for term in contrast.terms:
            values_S = values_S + term.weight * by_arm[term.arm]
        cell = ScoreCell(values_S[:, None], contrast.model, None)
        found.append(Found(cell, len(values_S), None, SEEDS, identical=identical(by_arm)))
    return estimated(found, claim)


def _parameters(term: TermSpec, claim: ClaimSpec, scores: Scores) -> np.ndarray:
    """The claim's parameter of each policy's law (S,)."""
    options = Options.model_validate(claim.options)
    frames = [scores[policy, term.on] for policy in term.policies]
    curves_SK = np.stack([matrix(frames, pass_at(k)).mean(axis=1) for k in options.k], axis=1)
    place, ks = PARAMETERS.index(str(claim.measure)), np.array(options.k, float)
    return np.array([fit(LAW, ks, curve_K).parameters[place] for curve_K in curves_SK])


CLAIMS = ClaimKind(what="a figure of laws", check=check, contrasts=contrasts, estimates=estimates, options=options)

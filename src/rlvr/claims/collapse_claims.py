"""Contrasts of the shares of collapsed runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlvr.claims.estimates import SEEDS, of_runs
from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Collapse
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
from rlvr.items.layout import collapse_rule
from rlvr.statistics.collapse import judge, unsolved_shares

PUBLISHED = "collapsed runs"  # the name, in published tables, of a method's share of collapsed runs


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table lacks."""
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: remove this key: {claim.over} is a table of shares of collapsed runs")
    if claim.predicate not in ("greater", "not_below", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k, which a share of runs lacks")
    if claim.weights and list(claim.weights.values()) != [1.0 if claim.predicate == "greater" else -1.0]:
        one = "one arm with a weight of 1 (greater) or -1 (not_below: its share is below the threshold)"
        raise ConfigError(f"{place}.weights: use left and right, since shares of runs are compared in pairs, or {one}")
    if claim.threshold > 1:
        raise ConfigError(f"{place}.threshold: a share of runs is at most 1")


class Options(Spec):
    collapse: Collapse  # the rule for collapsed runs


def options(claim: Claim, item: Item, plan: Plan, paper: str) -> Options:
    return Options(collapse=collapse_rule(plan, paper))


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model and pair of arms."""
    return of_runs("share of collapsed runs, {}", claim, item)


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Differences of two methods' shares of collapsed runs, with Newcombe's (1998) score interval.

    One method's share has Clopper and Pearson's (1934), as in the table. The wider intervals are Bonferroni's. p is
    that of Fisher's exact test where the threshold is 0, and that of the exact binomial test for one share.
    """
    return [
        (_of_pair if len(contrast.terms) > 1 else _of_one)(contrast.terms, claim, inputs, len(contrasts))
        for contrast in contrasts
    ]


def _collapsed(runs: Sequence[str], claim: ClaimSpec, inputs: Evidence) -> int:
    rows, rule = inputs.metrics, Options.model_validate(claim.options).collapse
    return sum(judge(np.array(unsolved_shares(rows[run], run)), **rule.model_dump()).collapsed for run in runs)


def _of_one(terms: Sequence[TermSpec], claim: ClaimSpec, inputs: Evidence, count: int) -> Estimate:
    from scipy import stats

    settings, (term,) = claim.statistics, terms
    runs, sign = term.policies, term.weight
    collapsed, n, least = _collapsed(runs, claim, inputs), len(runs), sign * claim.bound

    def interval(confidence: float) -> list[float]:
        found = stats.binomtest(collapsed, n).proportion_ci(confidence, method="exact")
        return sorted((sign * found.low, sign * found.high))

    low, high = interval(settings.confidence)
    low_of_all, high_of_all = interval(1 - (1 - settings.confidence) / count)
    sides = ("greater", "less") if sign > 0 else ("less", "greater")
    p, against = (float(stats.binomtest(collapsed, n, least, side).pvalue) for side in sides)
    p_of_all = min(1.0, 2 * count * against)
    return Estimate(sign * collapsed / n, low, high, low_of_all, high_of_all, n, None, SEEDS, p, p_of_all)


def _of_pair(terms: Sequence[TermSpec], claim: ClaimSpec, inputs: Evidence, count: int) -> Estimate:
    from statsmodels.stats.proportion import confint_proportions_2indep

    settings = claim.statistics
    left, right = (term.policies for term in sorted(terms, key=lambda term: -term.weight))
    first, second = (_collapsed(runs, claim, inputs) for runs in (left, right))
    n, m = len(left), len(right)

    def interval(alpha: float) -> tuple[float, float]:
        return confint_proportions_2indep(first, n, second, m, method="newcomb", compare="diff", alpha=alpha)

    low, high = interval(1 - settings.confidence)
    low_of_all, high_of_all = interval((1 - settings.confidence) / count)
    p, p_of_all = float("nan"), float("nan")
    if claim.predicate != "within" and claim.threshold == 0:
        table = [[first, n - first], [second, m - second]]
        p = _fisher(table, "greater")
        p_of_all = min(1.0, 2 * count * _fisher(table, "less"))
    return Estimate(first / n - second / m, low, high, low_of_all, high_of_all, min(n, m), None, SEEDS, p, p_of_all)


def _fisher(table: list[list[int]], alternative: str) -> float:
    """The p of Fisher's exact test."""
    from scipy.stats import fisher_exact

    found: Any = fisher_exact(table, alternative)
    return float(found.pvalue)


CLAIMS = ClaimKind(
    what="a table of collapses",
    check=check,
    contrasts=contrasts,
    estimates=estimates,
    options=options,
    published={"": PUBLISHED},
)

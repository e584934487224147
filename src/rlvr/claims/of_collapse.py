"""Contrasts of the shares of collapsed runs."""

from typing import Any

import numpy as np

from rlvr.claims._contrast import SEEDS, Contrast, Estimate, Evidence, NotComparable, of_runs
from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Settings, Statistics
from rlvr.statistics.collapse import judge, unsolved_shares

WHAT = "a table of collapses"
IGNORED = ("k", "benchmarks", "during", "since", "each_checkpoint", "part")  # keys of a claim that have no meaning here


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table lacks."""
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: remove this key: {claim.over} is a table of shares of collapsed runs")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k, which a share of runs lacks")
    if claim.weights:
        raise ConfigError(f"{place}.weights: use left and right: shares of runs are compared in pairs")


def layout_keys(claim: Claim, item: Item, plan: Plan, settings: Settings) -> dict[str, Any]:
    """The keys of a claim's layout: the rule for collapsed runs."""
    return {"collapse": settings.collapse.model_dump(mode="json")}


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model and pair of arms."""
    return of_runs("share of collapsed runs, {}", claim, item)


def estimates(
    contrasts: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence
) -> list[Estimate | NotComparable]:
    """Differences of two methods' shares of collapsed runs, with Newcombe's (1998) score interval.

    The wider intervals are Bonferroni's. p is that of Fisher's exact test where the threshold is 0.
    """
    return [_estimate(contrast["terms"], claim, inputs, len(contrasts)) for contrast in contrasts]


def _estimate(terms: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence, count: int) -> Estimate:
    from scipy import stats
    from statsmodels.stats.proportion import confint_proportions_2indep

    settings = Statistics.model_validate(claim["statistics"])
    left, right = (term["rates"][0]["policies"] for term in sorted(terms, key=lambda term: -term["weight"]))
    rule, rows = claim["collapse"], inputs.metrics
    first, second = (
        sum(judge(np.array(unsolved_shares(rows[run], run)), **rule).collapsed for run in runs)
        for runs in (left, right)
    )
    n, m = len(left), len(right)

    def interval(alpha: float) -> tuple[float, float]:
        return confint_proportions_2indep(first, n, second, m, method="newcomb", compare="diff", alpha=alpha)

    low, high = interval(1 - settings.confidence)
    low_of_all, high_of_all = interval((1 - settings.confidence) / count)
    p, p_of_all = float("nan"), float("nan")
    if claim["predicate"] != "within" and claim["threshold"] == 0:
        table = [[first, n - first], [second, m - second]]
        p = float(stats.fisher_exact(table, "greater").pvalue)
        p_of_all = min(1.0, 2 * count * float(stats.fisher_exact(table, "less").pvalue))
    return Estimate(first / n - second / m, low, high, low_of_all, high_of_all, min(n, m), None, SEEDS, p, p_of_all)

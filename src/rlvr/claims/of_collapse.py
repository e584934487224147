"""Contrasts of the shares of collapsed runs."""

from typing import Any

import numpy as np

from rlvr.claims._contrast import SEEDS, Contrast, Estimate, Evidence, of_runs
from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Settings, Statistics
from rlvr.statistics.collapse import judge, unsolved_shares

WHAT = "a table of collapses"
IGNORED = ("k", "benchmarks", "during", "since", "each_checkpoint")  # keys of a claim that have no meaning here


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


def estimate(terms: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence, count: int) -> Estimate:
    """The difference of two methods' shares of collapsed runs, with Newcombe's (1998) score interval."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    settings = Statistics.model_validate(claim["statistics"])
    left, right = sorted(terms, key=lambda term: -term["weight"])
    rule, rows = claim["collapse"], inputs.metrics
    first, second = (
        sum(judge(np.array(unsolved_shares(rows[run], run)), **rule).collapsed for run in term["policies"])
        for term in (left, right)
    )
    n, m = len(left["policies"]), len(right["policies"])

    def interval(alpha: float) -> tuple[float, float]:
        return confint_proportions_2indep(first, n, second, m, method="newcomb", compare="diff", alpha=alpha)

    low, high = interval(1 - settings.confidence)
    low_of_all, high_of_all = interval((1 - settings.confidence) / count)
    return Estimate(first / n - second / m, low, high, low_of_all, high_of_all, min(n, m), None, SEEDS)

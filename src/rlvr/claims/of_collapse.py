"""Contrasts of the shares of runs that collapsed."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlvr.claims._contrast import SEEDS, Contrast, Estimate, Found, of_runs
from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Settings, Statistics
from rlvr.statistics.collapse import judge, unsolved_shares
from rlvr.statistics.effort import Probes

WHAT = "a table of collapses"
IGNORED = ("k", "benchmarks", "during")  # keys of a claim that say nothing here


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim speaks of what the table does not have."""
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: {claim.over} is a table; its shares are of runs that collapsed")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: a share of runs has no k to be {claim.predicate!r} over")
    if claim.weights:
        raise ConfigError(f"{place}.weights: shares of runs are compared two by two, by left and right")


def told(settings: Settings) -> dict[str, Any]:
    """When a run has collapsed."""
    return {"collapse": settings.collapse.model_dump(mode="json")}


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """A contrast per model and pair of arms."""
    return of_runs("share of collapsed runs, {}", claim, item)


def estimate(terms: list[dict[str, Any]], claim: dict[str, Any], found: Found, count: int) -> Estimate:
    """The difference of two methods' shares of collapsed runs, with Newcombe's (1998) score interval."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    settings = Statistics.model_validate(claim["statistics"])
    left, right = sorted(terms, key=lambda term: -term["weight"])
    (first, n), (second, m) = (
        (_collapsed(term["policies"], claim["collapse"], found.metrics), len(term["policies"]))
        for term in (left, right)
    )

    def interval(alpha: float) -> tuple[float, float]:
        return confint_proportions_2indep(first, n, second, m, method="newcomb", compare="diff", alpha=alpha)

    low, high = interval(1 - settings.confidence)
    low_of_all, high_of_all = interval((1 - settings.confidence) / count)
    return Estimate(first / n - second / m, low, high, low_of_all, high_of_all, min(n, m), None, SEEDS)


def _collapsed(runs: list[str], rule: dict[str, float], metrics: Probes) -> int:
    return sum(judge(np.array(unsolved_shares(metrics[run], run)), **rule).collapsed for run in runs)

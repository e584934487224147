"""Contrasts of measures of training, as means over a part of its steps, in the measure's unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlvr.claims._contrast import SEEDS, Contrast, Estimate, Found, half_width, of_runs, seeds_of, tails
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import PROBE, curve
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics

WHAT = "a figure of curves"
IGNORED = ("k", "benchmarks")  # keys of a claim that say nothing here


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim speaks of what the figure does not have."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: a claim over curves names one of {', '.join(config.measures)}")
    look_up(dict.fromkeys(config.measures), claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: curves have no k and no hard levels to be {claim.predicate!r} over")


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """A contrast per model and sum of arms."""
    return of_runs(f"{{}}, {claim.measure}", claim, item)


def estimate(terms: list[dict[str, Any]], claim: dict[str, Any], found: Found, count: int) -> Estimate:
    """A sum of means over a part of training with Student's t over seeds, which are paired."""
    measure = curve(claim["measure"])
    rows = found.probes if measure.rows == PROBE else found.metrics
    seeds = seeds_of(terms)
    values_S = np.zeros(seeds)
    for term in terms:
        values_S += term["weight"] * np.array(
            [_mean_during(rows[policy], measure.name, claim["during"]) for policy in term["policies"]]
        )
    value = float(values_S.mean())
    if seeds < 2:
        none = float("nan")
        return Estimate(value, none, none, none, none, seeds, None, SEEDS)
    settings = Statistics.model_validate(claim["statistics"])
    half, half_of_all = (half_width(values_S, tail) for tail in tails(settings, count))
    return Estimate(value, value - half, value + half, value - half_of_all, value + half_of_all, seeds, None, SEEDS)


def _mean_during(rows: list[dict[str, Any]], name: str, during: list[float]) -> float:
    """The mean over rows in a part of training, given as shares of its steps, without the one before training."""
    last = max(row["step"] for row in rows)
    own = [row[name] for row in rows if row["step"] and during[0] <= row["step"] / last <= during[1]]
    known = [value for value in own if value is not None]
    return float(np.mean(known)) if known else float("nan")

"""Contrasts of measures of training: means over a part of the steps, in the measure's unit."""

from typing import Any

import numpy as np

from rlvr.claims._contrast import (
    SEEDS,
    Contrast,
    Estimate,
    Evidence,
    Found,
    NotComparable,
    of_runs,
    seeds_of,
    with_joint_bounds,
)
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import PROBE, curve
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.statistics.joint import Cell

WHAT = "a figure of curves"
IGNORED = ("k", "benchmarks")  # keys of a claim that have no meaning here


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the figure lacks."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: curves need one of {', '.join(config.measures)}")
    look_up(dict.fromkeys(config.measures), claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k or hard levels, which curves lack")


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model and sum of arms."""
    return of_runs(f"{{}}, {claim.measure}", claim, item)


def estimates(
    contrasts: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence
) -> list[Estimate | NotComparable]:
    """Sums of means over a part of training, with Student's t over paired seeds."""
    return [*with_joint_bounds([_found(contrast, claim, inputs) for contrast in contrasts], claim)]


def _found(contrast: dict[str, Any], claim: dict[str, Any], inputs: Evidence) -> Found:
    measure = curve(claim["measure"])
    rows = inputs.probes if measure.rows == PROBE else inputs.metrics
    seeds = seeds_of(contrast["terms"])
    values_S = np.zeros(seeds)
    for term in contrast["terms"]:
        policies = term["rates"][0]["policies"]
        values_S += term["weight"] * np.array(
            [_mean_during(rows[policy], measure.name, claim["during"]) for policy in policies]
        )
    return Found(Cell(values_S[:, None], contrast["model"], None), seeds, None, SEEDS)


def _mean_during(rows: list[dict[str, Any]], name: str, during: list[float]) -> float:
    """The mean over a part of training (shares of its steps), without the row before training."""
    last = max(row["step"] for row in rows)
    values = [row[name] for row in rows if row["step"] and during[0] <= row["step"] / last <= during[1]]
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else float("nan")

"""Contrasts of measures of runs at a part of training, as tables of them and figures like them compute them.

The numbers of a run are those of the kind's own `statistics`, so that a table and a claim cannot differ.
Dimension: S training seeds.
"""

from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from rlvr import items
from rlvr.claims._contrast import (
    SEEDS,
    Contrast,
    Estimate,
    Evidence,
    Found,
    NotComparable,
    estimated,
    of_runs,
    seeds_of,
)
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import METRICS, PROBE, WEIGHTS
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Settings
from rlvr.statistics.joint import Cell
from rlvr.statistics.run_rows import Runs, of_seeds

WHAT = "of measures of runs"
READS = ("part",)  # of a claim's optional keys
NOWHERE = "these runs have no value of the measure in this part of training"
ROWS = {"weights": "changes", "hidden": "hidden", "runs": "runs"}  # an input of `statistics` -> what a claim needs
WORDS = ("title", "note", "by_name", "rows", "arms")  # keys of an item that change no number


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table or figure lacks."""
    kind = items.load(item.folder, item.content.kind)
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: {claim.over} needs one of {', '.join(kind.measures(config))}")
    look_up(dict.fromkeys(kind.measures(config)), claim.measure, "measure", f"{place}.measure")
    if claim.part is not None:
        look_up(dict.fromkeys(kind.PARTS), claim.part, "part of training", f"{place}.part")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k, hard levels or curves")


def layout_keys(claim: Claim, item: Item, plan: Plan, settings: Settings) -> dict[str, Any]:
    """The keys of a claim's layout: the part of training, and the settings of the kind's statistics."""
    kind = items.load(item.folder, item.content.kind)
    (rows,) = (ROWS[name] for name in items.parameters(kind, "statistics") if name in ROWS)
    return {
        "kind": [item.folder, item.content.kind],
        "part": claim.part or (kind.PARTS[-1] if kind.PARTS else None),
        "rows": rows,
        "settings": item.content.model_dump(mode="json", exclude=set(WORDS)),
    }


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model and sum of arms."""
    return of_runs(f"{{}}, {claim.measure}{f', {claim.part}' if claim.part else ''}", claim, item)


def estimates(
    contrasts: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence
) -> list[Estimate | NotComparable]:
    """Sums of the measure with t over paired seeds, and joint bounds."""
    cells = {
        (contrast["model"], term["arm"]): {
            **{key: contrast[key] for key in ("model", "stand_in")},
            **{"arm": term["arm"], "label": term["label"], "published": None},
            "policies": term["rates"][0]["policies"],
        }
        for contrast in contrasts
        for term in contrast["terms"]
    }
    kind = items.load(*claim["kind"])
    layout = {**claim["settings"], "cells": list(cells.values()), "statistics": claim["statistics"]}
    frame = kind.statistics(layout, **_inputs(kind, inputs))
    return estimated([_found(contrast, claim, frame) for contrast in contrasts], claim)


def _inputs(kind: ModuleType, inputs: Evidence) -> dict[str, Any]:
    """What the kind's statistics read, without published values."""
    training = {run: {PROBE: inputs.probes[run], METRICS: rows} for run, rows in inputs.metrics.items()}
    every = {
        "runs": Runs(training),
        "weights": Runs({run: {WEIGHTS: rows} for run, rows in inputs.weights.items()}),
        "hidden": Runs({run: {"hidden": rows} for run, rows in inputs.hidden.items()}),
        **{"reference": None, "changes": {}},  # published values, and words
    }
    return {name: every[name] for name in items.parameters(kind, "statistics")}


def _found(contrast: dict[str, Any], claim: dict[str, Any], frame: pd.DataFrame) -> Found | NotComparable:
    values_S = np.zeros(seeds_of(contrast["terms"]))
    for term in contrast["terms"]:
        chosen = (frame["model"] == contrast["model"]) & (frame["arm"] == term["arm"])
        chosen &= frame["measure"] == claim["measure"]
        rows = frame[chosen & (frame["part"] == claim["part"])] if claim["part"] else frame[chosen]
        if rows.empty:
            return NotComparable(NOWHERE)
        values_S = values_S + term["weight"] * of_seeds(rows["by_seed"].iloc[0])
    if np.isnan(values_S).any():
        return NotComparable(NOWHERE)
    return Found(Cell(values_S[:, None], contrast["model"], None), len(values_S), None, SEEDS)

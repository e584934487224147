"""Contrasts of measures of runs at a part of training, as tables of them and figures like them compute them.

The numbers of a run are those of the kind's own `statistics`, so that a table and a claim cannot differ.
Dimension: S training seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rlvr.claims.estimates import SEEDS, Found, estimated, identical, of_runs
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.layouts import CellLayout, CellsLayout, numbers_of
from rlvr.config.measures import METRICS, PROBE
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.items.contrast import (
    RUNS,
    ClaimKind,
    ClaimSpec,
    Contrast,
    ContrastSpec,
    Estimate,
    Evidence,
    NotComparable,
    Spec,
)
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.run_rows import RunRows, of_seeds

NOWHERE = "these runs have no value of the measure in this part of training"


class Options(Spec):
    part: str | None  # of training
    layout: dict[str, Any]  # of the kind's statistics, without cells


@dataclass(frozen=True, kw_only=True)
class OfParts:
    """Claims over a kind whose `statistics` have a row per cell, part of training and measure, with `by_seed`.

    `measures` gives those of an item's configuration, `parts` are those of training, the last one the default. `rows`
    names what `statistics` reads of runs: RUNS, or a measure of runs.
    """

    layout: type[CellsLayout]
    lay_out: Callable[[Item, Plan, str], CellsLayout]
    statistics: Callable[[Any, RunRows], pd.DataFrame]
    measures: Callable[[Any], tuple[str, ...]]
    rows: str
    parts: tuple[str, ...] = ()

    def check(self, claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
        """Raises ConfigError where a claim names something that the table or figure lacks."""
        measures = self.measures(config)
        if claim.measure is None:
            raise ConfigError(f"{place}.measure: {claim.over} needs one of {', '.join(measures)}")
        look_up(measures, claim.measure, "measure", f"{place}.measure")
        if claim.part is not None:
            look_up(self.parts, claim.part, "part of training", f"{place}.part")
        if claim.predicate not in ("greater", "within", "ordering"):
            raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k, hard levels or curves")

    def options(self, claim: Claim, item: Item, plan: Plan, paper: str) -> Options:
        layout = numbers_of(self.lay_out(item, plan, paper))
        part = claim.part or (self.parts[-1] if self.parts else None)
        return Options(part=part, layout={key: value for key, value in layout.items() if key != "cells"})

    def contrasts(self, claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
        """One contrast per model and sum of arms."""
        return of_runs(f"{{}}, {claim.measure}{f', {claim.part}' if claim.part else ''}", claim, item)

    def estimates(
        self, contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence
    ) -> list[Estimate | NotComparable]:
        """Sums of the measure with t over paired seeds, and joint bounds."""
        options = Options.model_validate(claim.options)
        cells = {
            (contrast.model, term.arm): CellLayout(
                model=contrast.model,
                stand_in=contrast.stand_in,
                arm=term.arm,
                label=term.label,
                policies=term.policies,
            )
            for contrast in contrasts
            for term in contrast.terms
        }
        layout = self.layout.model_validate({**options.layout, "cells": tuple(cells.values())})
        frame = self.statistics(layout, self._rows(inputs))
        return estimated([_found(contrast, claim, options.part, frame) for contrast in contrasts], claim)

    def _rows(self, inputs: Evidence) -> RunRows:
        if self.rows != RUNS:
            return RunRows({run: {self.rows: rows} for run, rows in inputs.measured[self.rows].items()})
        return RunRows({run: {PROBE: inputs.probes[run], METRICS: rows} for run, rows in inputs.metrics.items()})

    def kind(self) -> ClaimKind:
        return ClaimKind(
            what="of measures of runs",
            reads=("part",),
            check=self.check,
            contrasts=self.contrasts,
            estimates=self.estimates,
            options=self.options,
            rows=lambda claim: self.rows,
        )


def _found(contrast: ContrastSpec, claim: ClaimSpec, part: str | None, frame: pd.DataFrame) -> Found | NotComparable:
    by_arm: dict[str, Any] = {}
    values_S = np.zeros(contrast.seeds)
    for term in contrast.terms:
        chosen = (frame["model"] == contrast.model) & (frame["arm"] == term.arm)
        chosen &= frame["measure"] == claim.measure
        rows = frame[chosen & (frame["part"] == part)] if part else frame[chosen]
        if rows.empty:
            return NotComparable(NOWHERE)
        by_arm[term.arm] = of_seeds(rows["by_seed"].iloc[0])
        values_S = values_S + term.weight * by_arm[term.arm]
    if np.isnan(values_S).any():
        return NotComparable(NOWHERE)
    cell = ScoreCell(values_S[:, None], contrast.model, None)
    return Found(cell, len(values_S), None, SEEDS, identical=identical(by_arm))

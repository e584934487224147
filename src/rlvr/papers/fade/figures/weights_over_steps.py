"""Measures of the change of weights over training steps, with intervals over seeds (FADE, Figures 3 and 5)."""

from typing import Any

import pandas as pd
from pydantic import Field

from rlvr.claims import curve_claims
from rlvr.config.layers import ConfigError
from rlvr.config.measures import UnknownMeasure, curve
from rlvr.config.plan import Item, Plan
from rlvr.figures import _training, over_steps
from rlvr.items.layout import filled
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import RunRows


class Config(_training.TrainingFigure):
    measures: list[str] = Field(min_length=1)


def expand(name: str, config: Config, scope: Scope) -> Item:
    for measure in config.measures:
        try:
            rows = curve(measure).rows
        except UnknownMeasure as error:
            raise ConfigError(f"{scope.place}.measures: {error}") from error
        if rows != "weights":
            raise ConfigError(f"{scope.place}.measures: {measure!r} is not of weights; the kind over_steps shows it")
    return _training.expand(name, config, scope)


def lay_out(item: Item, plan: Plan, paper: str) -> over_steps.OverStepsLayout:
    config: Any = item.content
    measures = tuple(curve(measure) for measure in config.measures)
    hard_levels = tuple(() for _ in item.cells)
    return filled(over_steps.OverStepsLayout, item, plan, paper, measures=measures, hard_levels=hard_levels)


def statistics(layout: over_steps.OverStepsLayout, weights: RunRows) -> pd.DataFrame:
    """One row per model, arm, measure and step whose weights were kept."""
    return over_steps.statistics(layout, weights)


FIGURE = _training.TrainingKind(
    config=Config,
    layout=over_steps.OverStepsLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("weights",),
    claims=curve_claims.CLAIMS,
    draw=over_steps.draw,
    caption=over_steps.CAPTION,
)

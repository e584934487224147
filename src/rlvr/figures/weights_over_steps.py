"""Measures of the change of weights over training steps, with intervals over seeds (FADE, Figures 3 and 5)."""

from typing import Any

import pandas as pd
from pydantic import Field

from rlvr.config.layers import ConfigError
from rlvr.config.measures import WEIGHTS, UnknownMeasure, curve
from rlvr.config.plan import Item, Plan
from rlvr.figures import _training, over_steps
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import Runs

CAPTION = over_steps.CAPTION
CLAIMS = "of_curves"


class Config(_training.TrainingFigure):
    measures: list[str] = Field(min_length=1)


def expand(name: str, config: Config, scope: Scope) -> Item:
    for measure in config.measures:
        try:
            rows = curve(measure).rows
        except UnknownMeasure as error:
            raise ConfigError(f"{scope.place}.measures: {error}") from error
        if rows != WEIGHTS:
            raise ConfigError(f"{scope.place}.measures: {measure!r} is not of weights; the kind over_steps shows it")
    return _training.expand(name, config, scope)


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    config: Any = item.content
    measures = [vars(curve(measure)) for measure in config.measures]
    keys = {"measures": measures, "hard_levels": [[] for _ in item.cells], "smooth": None}
    return {**_training.lay_out(item, plan, paper), **keys}


def statistics(layout: dict[str, Any], weights: Runs) -> pd.DataFrame:
    """One row per model, arm, measure and step whose weights were kept."""
    return over_steps.statistics(layout, weights)


draw = over_steps.draw

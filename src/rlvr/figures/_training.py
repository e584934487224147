"""Figures of training: the common keys, planning and panels of their kinds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.layouts import CellsLayout, Layout, Looks
from rlvr.config.plan import Item
from rlvr.config.schema.fields import Fraction, Positive, Strict
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.figures._looks import Look
from rlvr.figures._panels import Axes, Figure, grid, starts_line
from rlvr.items import FIGURES, FigureKind
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import of_seeds
from rlvr.suggest import nearest

CROSS = {"marker": "x", "linestyle": "", "markersize": 7, "mew": 1.8, "label": "the paper's number"}
BANDS = 2  # methods of a panel up to which it shows intervals; bands of more would hide each other


class TrainingFigure(ItemConfig):
    """Arms over training steps."""

    models: list[str] = Field(min_length=1)
    arms: list[str] = []
    sweep: str | None = None
    seeds: Positive | None = None  # as many of the paper's training seeds; default: all
    repeats: Positive | None = None  # the number of seeds; a scale may have another number; default: the paper's seeds
    up_to_step: Positive | None = None

    @model_validator(mode="after")
    def has_arms(self):
        if not (self.arms or self.sweep):
            raise ValueError("arms: this key is missing; a figure of training needs arms or a sweep")
        return self


class PublishedCurve(Strict):
    """A number that the paper gives of a figure: an arm's, at a part of the training steps (0 to 1)."""

    arm: str
    at: Fraction
    value: float


class WithPublished(TrainingFigure):
    """Such a figure of one model with numbers of the paper, of its first measure."""

    published: list[PublishedCurve] = []

    @model_validator(mode="after")
    def has_their_arms(self):
        for i, point in enumerate(self.published):
            if point.arm not in self.arms:
                raise ValueError(
                    f"published.{i}.arm: no arm {point.arm!r} in this figure{nearest(point.arm, self.arms)}"
                )
        if self.published and len(self.models) > 1:
            raise ValueError("published: for a figure of one model")
        return self


def expand(name: str, config: Any, scope: Scope) -> Item:
    """The item: one cell per model and arm."""
    rows = [Row(arm=arm, label=scope.label_with_value(arm)) for arm in scope.arms(config)]
    return Item(FIGURES, name, config, scope.trained(config, scope.models(config.models), rows))


class TrainingLayout(CellsLayout, Looks):
    up_to_step: int | None
    published: tuple[PublishedCurve, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TrainingKind(FigureKind):
    """A kind of figure of training, over the probes and metrics of runs unless it says otherwise."""

    config: type[ItemConfig] = TrainingFigure
    expand: Callable[[str, Any, Scope], Item] = expand
    layout: type[Layout] | UnionType = TrainingLayout
    reads: tuple[str, ...] = ("runs",)


def draw_published(axes: Axes, layout: TrainingLayout, arms: Iterable[str], last_step: int, styles: Any) -> None:
    """The paper's numbers of these arms as crosses."""
    for point in layout.published:
        if point.arm in arms:
            place, style = ([point.at * last_step], [point.value]), {"color": styles[point.arm].color, **CROSS}
            axes.plot(*place, **style, clip_on=False, zorder=4)


def draw_line(axes: Axes, cell: pd.DataFrame, look: Look, place: int, methods: int) -> None:
    """A method over steps: its mean with its interval, or with thin lines of its seeds where there are many methods.

    Statistics that are older than their column `by_seed` have intervals only.
    """
    steps = cell["step"]
    if methods <= BANDS or "by_seed" not in cell:
        axes.fill_between(steps, cell["value_low"], cell["value_high"], color=look.color, alpha=0.13, lw=0)
    else:
        seeds_TS = np.array([of_seeds(text) for text in cell["by_seed"].astype(str)])
        axes.plot(steps, seeds_TS, color=look.color, alpha=0.3, linewidth=0.5, zorder=1.5)
    axes.plot(steps, cell["value"], label=cell["label"].iloc[0], **look.curve(len(cell), place))


def panels(
    frame: pd.DataFrame, *, height: float, **shared: Any
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame, bool]]]:
    """One titled panel per arm, models in separate rows: (axes, data, whether it is the first of its line)."""
    by_model = [of for _, of in frame.groupby("model", sort=False)]
    figure, blocks = grid([of["arm"].nunique() for of in by_model], height=height, least=2.0, most=2.6, **shared)
    found = []
    for of, block in zip(by_model, blocks, strict=True):
        for axes, (_, cell) in zip(block, of.groupby("arm", sort=False), strict=True):
            axes.tick_params(labelbottom=True)
            axes.set_title((f"{of['stand_in'].iloc[0]}: " if len(blocks) > 1 else "") + cell.label.iloc[0])
            found.append((axes, cell, starts_line(axes)))
    return figure, found

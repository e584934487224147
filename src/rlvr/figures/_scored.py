"""Figures of scores on benchmarks, or of tables of them: the common keys, planning and statistics of their kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any

import pandas as pd
from pydantic import Field

from rlvr.config.layers import ConfigError, look_up
from rlvr.config.layouts import Layout, Looks, ScoresLayout
from rlvr.config.plan import Item
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.items import FIGURES, TABLE_KINDS, FigureKind
from rlvr.items.scope import Curve, Scope
from rlvr.statistics.scores import Scores
from rlvr.statistics.table_rows import pass_at_k_rows

CAPTION = "95 % intervals over {seeds} training seeds × problems (Student's t)."


class ScoredFigure(ItemConfig):
    """Arms on one benchmark, or on several side by side."""

    models: list[str] = []
    arms: list[str] = []
    sweep: str | None = None
    benchmark: str | None = None
    benchmarks: list[str] = []
    k: list[Positive] = []
    seeds: Positive | None = None  # as many of the paper's training seeds; default: all

    def over(self) -> list[str]:
        """The benchmarks, in order."""
        return self.benchmarks or [name for name in (self.benchmark,) if name is not None]

    def has_curves(self, instead: str = "") -> None:
        """Raises ValueError where a key for curves is missing."""
        self.either("benchmark", "benchmarks")
        if not (self.over() and self.models and (self.arms or self.sweep) and self.k):
            keys = "models, arms (or a sweep), a benchmark (or benchmarks) and k"
            raise ValueError(f"a figure of kind {self.kind} needs {keys}{instead}")


def expand(name: str, config: Any, scope: Scope, *, label: Callable[[str], str] | None = None) -> Item:
    """The item: one cell per model and arm, one evaluation per model and benchmark."""
    models, arms = scope.models(config.models), scope.arms(config)
    rows = [Row(arm=arm, label=(label or scope.label_of_curve)(arm)) for arm in arms]
    cells = scope.cells(models, rows, seeds=config.seeds)
    config = config.model_copy(update={"k": scope.largest(config.k)})
    evaluations = scope.evaluations(config.over(), models, config.k)
    scope.show_arms(cells, evaluations)
    return Item(FIGURES, name, config, cells, evaluations, tuple(config.over()))


def expand_methods(name: str, config: Any, scope: Scope, *, curve: Curve | None = None) -> Item:
    """The item of a figure that compares methods with a baseline, which may have a curve over its learning rates."""
    models, rows = scope.models(config.models), [Row(arm=arm, label=scope.label_with_value(arm)) for arm in config.arms]
    evaluations = scope.evaluations(config.over(), models, config.k)
    cells = scope.cells(models, rows, curve=curve, seeds=config.seeds)
    return Item(FIGURES, name, config, cells, evaluations, tuple(config.over()))


class ScoredLayout(ScoresLayout, Looks):
    pass


def statistics(layout: ScoresLayout, scores: Scores) -> pd.DataFrame:
    return pass_at_k_rows(layout, scores, None)


@dataclass(frozen=True, kw_only=True)
class ScoredKind(FigureKind):
    """A kind of figure of arms on benchmarks, of their pass@k unless it has statistics of its own."""

    expand: Callable[[str, Any, Scope], Item] = expand
    layout: type[Layout] | UnionType = ScoredLayout
    statistics: Callable[..., pd.DataFrame] | None = statistics
    reads: tuple[str, ...] = ("scores",)


# ---- of tables ----


class TablesFigure(ItemConfig):
    """Figures of the numbers of tables."""

    tables: list[str] = Field(min_length=1)  # pass@k tables


def expand_tables(name: str, config: Any, scope: Scope) -> Item:
    """The item of a figure of tables. Raises ConfigError for one without pass@k."""
    for table in config.tables:
        item = look_up(scope.planned.tables, table, "table", f"{scope.place}.tables")
        if not TABLE_KINDS.load(item.content.kind).curves:
            raise ConfigError(f"{scope.place}.tables: {table!r} has no pass@k; name a pass@k table")
    return Item(FIGURES, name, config, sources=tuple(config.tables))


class OfTables(Layout, Looks):
    """A figure of the statistics of tables."""


@dataclass(frozen=True, kw_only=True)
class TablesKind(FigureKind):
    """A kind of figure of the statistics of tables."""

    config: type[ItemConfig] = TablesFigure
    expand: Callable[[str, Any, Scope], Item] = expand_tables
    layout: type[Layout] | UnionType = OfTables

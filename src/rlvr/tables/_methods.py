"""Tables with a row per method: the keys that their kinds share."""

from __future__ import annotations

from pydantic import Field, model_validator

from rlvr.config.layers import ConfigError
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.items.scope import Scope
from rlvr.words import nearest


class MethodsTable(ItemConfig):
    """Rows, or a row per arm; those of a sweep below them."""

    models: list[str] = Field(min_length=1)
    rows: list[Row] = []
    every_arm: bool = False
    sweep: str | None = None
    compare_with: str | None = None  # an arm among the rows, to which the others have differences

    @model_validator(mode="after")
    def has_rows(self):
        self.either("rows", "every_arm")
        if not (self.rows or self.every_arm or self.sweep):
            raise ValueError("rows: is missing; a table needs rows, every_arm or a sweep")
        return self


class BenchmarksTable(MethodsTable):
    """The same on a benchmark, or on several below each other."""

    benchmark: str | None = None
    benchmarks: list[str] = []

    @model_validator(mode="after")
    def is_on_something(self):
        self.either("benchmark", "benchmarks")
        if not self.over():
            raise ValueError("benchmark: is missing; a table of scores needs benchmark or benchmarks")
        return self

    def over(self) -> list[str]:
        """The benchmarks, in order."""
        return self.benchmarks or [name for name in (self.benchmark,) if name is not None]


def compared(config: MethodsTable, rows: list[Row], scope: Scope) -> None:
    """Raises ConfigError where the arm to compare with is no row."""
    arms = [row.arm for row in rows]
    if config.compare_with is not None and config.compare_with not in arms:
        raise ConfigError(
            f"{scope.place}.compare_with: not a row: {config.compare_with!r}{nearest(config.compare_with, arms)}"
        )

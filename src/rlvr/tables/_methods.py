"""Tables with one row per method: their common keys."""

from typing import Any

from pydantic import Field, model_validator

from rlvr.config.layers import ConfigError, look_up
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.items.scope import Curve, Scope
from rlvr.statistics.frontier import LEAST
from rlvr.suggest import nearest


class MethodsTable(ItemConfig):
    """Rows, or one row per arm, then the rows of a sweep."""

    models: list[str] = Field(min_length=1)
    rows: list[Row] = []
    every_arm: bool = False
    sweep: str | None = None
    compare_with: str | None = None  # the baseline: the arm of one row

    @model_validator(mode="after")
    def has_rows(self):
        self.either("rows", "every_arm")
        if not (self.rows or self.every_arm or self.sweep):
            raise ValueError("rows: this key is missing; a table needs rows, every_arm or a sweep")
        return self


class BenchmarksTable(MethodsTable):
    """The same on one benchmark, or on several, one below the other."""

    benchmark: str | None = None
    benchmarks: list[str] = []

    @model_validator(mode="after")
    def has_a_benchmark(self):
        self.either("benchmark", "benchmarks")
        if not self.over():
            raise ValueError("benchmark: this key is missing; a table of scores needs benchmark or benchmarks")
        return self

    def over(self) -> list[str]:
        """The benchmarks, in order."""
        return self.benchmarks or [name for name in (self.benchmark,) if name is not None]


def check_baseline(config: MethodsTable, rows: list[Row], scope: Scope) -> None:
    """Raises ConfigError where no row shows the baseline."""
    arms = [row.arm for row in rows]
    if config.compare_with is not None and config.compare_with not in arms:
        arm = f"{config.compare_with!r}{nearest(config.compare_with, arms)}"
        raise ConfigError(f"{scope.place}.compare_with: no row has the arm {arm}")


def curve_of(config: Any, scope: Scope) -> Curve:
    """The baseline and the sweep of its learning rates that `matched` names. Raises ConfigError where there is none."""
    place, baseline, name = f"{scope.place}.matched", config.compare_with, config.matched
    if baseline is None:
        raise ConfigError(f"{place}: needs compare_with, the baseline that the sweep is over")
    sweep = look_up(scope.paper.sweeps, name, "sweep", place)
    if sweep.times != "rl.learning_rate":
        raise ConfigError(f"{place}: {name!r} is no sweep with `times: rl.learning_rate`")
    if baseline not in sweep.like:
        raise ConfigError(f"{place}: the sweep {name!r} is not over {baseline}, the baseline (compare_with)")
    if len(scope.swept(baseline, name)) < LEAST:
        rates = ", ".join(f"{rate:g}" for rate in scope.matched.rates or sweep.values)
        here = f" at the scale {scope.plan.scale} (matched.rates)" if scope.matched.rates else ""
        raise ConfigError(f"{place}: a curve needs {LEAST} learning rates of the sweep {name!r}, and has {rates}{here}")
    return Curve(baseline, name)

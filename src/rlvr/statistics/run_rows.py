"""The rows of runs (docs/training.md), for statistics of training."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rlvr.config.layouts import CellLayout
from rlvr.config.measures import HARD, MEASURES


class RunRows(dict[str, dict[str, list[dict[str, Any]]]]):
    """run -> "probe" or "metrics" -> its rows, one per step."""

    @classmethod
    def of(cls, files: Iterable[tuple[str, str, Iterable[dict[str, Any]]]]) -> Self:
        runs = cls()
        for run, name, rows in files:
            runs.setdefault(run, {})[name] = list(rows)
        return runs


STATE = {name for name, measure in MEASURES.items() if measure.state}


def value_of(row: dict[str, Any], name: str, run: str) -> Any:
    """A measure of a row, or of its estimator's state; NaN for null, and for the state of a method without it.

    Raises KeyError where an older run lacks a measure.
    """
    of = row if name in row else row.get("estimator", {})
    if name not in of and name in STATE:
        return math.nan
    if name not in of:
        raise KeyError(f"{run}: no {name!r} at step {row['step']}; this run is older than the measure; train it again")
    return math.nan if of[name] is None else of[name]


def value_at(row: dict[str, Any], name: str, hard_levels: Sequence[str], run: str) -> float:
    """A measure of a row, also that of the hard levels; NaN for null. Raises KeyError where an older run lacks it."""
    return _hard(row, hard_levels, run) if name == HARD else value_of(row, name, run)


def _hard(row: dict[str, Any], hard_levels: Sequence[str], run: str) -> float:
    """The pass rate over all problems of the hard levels. Raises ValueError where the probe has none."""
    rates, counts = value_of(row, "pass_rate_by_level", run), value_of(row, "problems_by_level", run)
    levels = [level for level in rates if level in hard_levels]
    if not levels:
        raise ValueError(f"{run}: held-out problems have the levels {list(rates)}, none of {hard_levels}")
    return sum(rates[level] * counts[level] for level in levels) / sum(counts[level] for level in levels)


def in_range(steps: list[int], up_to_step: int | None) -> list[int]:
    return steps if up_to_step is None else [step for step in steps if step <= up_to_step]


def running_mean(values: list[float], window: int) -> list[float]:
    """The running mean of the last `window` values without NaN, of fewer at the start; NaN where there is none."""
    parts = [np.array(values[max(0, i + 1 - window) : i + 1], dtype=float) for i in range(len(values))]
    return [float(np.nanmean(part)) if (~np.isnan(part)).any() else math.nan for part in parts]


def by_seed(values: Iterable[float], digits: int = 9) -> str:
    """One value per run, NaN where it has none, as the text of one column, in the order of `policies`."""
    return " ".join(f"{value:.{digits}g}" for value in values)


def of_seeds(text: str) -> NDArray[np.float64]:
    """The values of `by_seed`."""
    return np.array(text.split(), dtype=float)


def cell_columns(cell: CellLayout, policies: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of every row: its model, arm and runs; with `policies`, only these."""
    columns = {"model": cell.model, "stand_in": cell.stand_in, "arm": cell.arm, "label": cell.label}
    return {**columns, "policies": " ".join(cell.policies if policies is None else policies)}

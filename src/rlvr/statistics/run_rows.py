"""The rows of runs (docs/training.md), as the statistics over training read them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


class Runs(dict[str, dict[str, list[dict[str, Any]]]]):
    """run -> "probe" or "metrics" -> its rows, a step each."""

    @classmethod
    def of(cls, found: Iterable[tuple[str, str, Iterable[dict[str, Any]]]]) -> Runs:
        made = cls()
        for run, name, rows in found:
            made.setdefault(run, {})[name] = list(rows)
        return made


def value_of(row: dict[str, Any], name: str, run: str) -> Any:
    """A measure of a row, NaN for null. Raises KeyError where the run was made before it was measured."""
    if name not in row:
        raise KeyError(f"{run}: no {name!r} at step {row['step']}; made before this was measured, so make it again")
    return math.nan if row[name] is None else row[name]


def in_range(steps: list[int], up_to_step: int | None) -> list[int]:
    return steps if up_to_step is None else [step for step in steps if step <= up_to_step]


def running_mean(values: list[float], window: int) -> list[float]:
    """At each place the mean of the last `window` values that are numbers, of fewer at the beginning; NaN for none."""
    parts = [np.array(values[max(0, i + 1 - window) : i + 1], dtype=float) for i in range(len(values))]
    return [float(np.nanmean(part)) if (~np.isnan(part)).any() else math.nan for part in parts]


def cell_columns(cell: dict[str, Any]) -> dict[str, Any]:
    """What every row says of its model, its arm and its runs."""
    named = {key: cell[key] for key in ("model", "stand_in", "arm", "label")}
    return {**named, "policies": " ".join(cell["policies"])}

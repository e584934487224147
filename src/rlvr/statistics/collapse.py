"""Collapsed runs: prompts without a correct response first become fewer, then many more (A-GRAE, Fig. 9)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlvr.config.measures import METRICS
from rlvr.config.schema.settings import Collapse
from rlvr.statistics.run_rows import RunRows, value_of


@dataclass(frozen=True)
class Judgement:
    """The mean share of unsolved prompts at a run's end, the smallest mean before, and whether the run collapsed."""

    last: float
    smallest: float
    collapsed: bool


def judge(unsolved_T: NDArray[np.float64], *, window: float, factor: float, share: float) -> Judgement:
    """Whether a run collapsed, from the share of prompts without a correct response at each of T steps.

    Let w = max(1, round(window T)). A run collapsed if the mean of the last w steps exceeds `factor` times the smallest
    mean of w consecutive earlier steps, and exceeds it by at least `share`. A run of fewer than 2 w steps has not
    collapsed. Raises ValueError for an empty run or a share outside [0, 1].
    """
    if not unsolved_T.size or not ((unsolved_T >= 0) & (unsolved_T <= 1)).all():
        raise ValueError("needs one step or more, and shares in [0, 1]")
    width = steps_of(window, unsolved_T.size)
    means = np.convolve(unsolved_T, np.ones(width) / width, mode="valid")
    before, last = means[:-width], float(means[-1])
    if not before.size:
        return Judgement(last, math.nan, False)
    smallest = float(before.min())
    # Means of equal shares can differ in the last bits.
    collapsed = last > factor * smallest + 1e-12 and last - smallest >= share - 1e-12
    return Judgement(last, smallest, collapsed)


def steps_of(window: float, steps: int) -> int:
    return max(1, round(window * steps))


def of_run(runs: RunRows, run: str, rule: Collapse) -> Judgement:
    """Whether a run collapsed, by a rule (`collapse:` in config/defaults.yaml)."""
    return judge(
        np.array(unsolved_shares(runs[run][METRICS], run)), window=rule.window, factor=rule.factor, share=rule.share
    )


def unsolved_shares(rows: list[dict[str, Any]], run: str) -> list[float]:
    """The share of prompts without a correct response, per step: dynamic sampling varies the number of prompts."""
    return [value_of(row, "unsolved", run) / value_of(row, "prompts_drawn", run) for row in rows]

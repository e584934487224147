"""Runs that collapse: prompts without a correct response become fewer, and then many more again (A-GRAE, Fig. 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlvr.config.measures import METRICS
from rlvr.statistics.run_rows import Runs, value_of


@dataclass(frozen=True)
class Verdict:
    """The mean share of unsolved prompts at the end of a run, the smallest before it, and whether it collapsed."""

    last: float
    smallest: float
    collapsed: bool


def judge(unsolved_T: NDArray[np.float64], *, window: float, factor: float, share: float) -> Verdict:
    """Whether a run has collapsed, by the share of its prompts without a correct response at each of T steps.

    With w = round(window T) steps, at least one: the mean of the last w exceeds `factor` times the smallest mean of w
    steps in a row that end before them, and exceeds it by `share` at least. A run of fewer than 2 w steps has no steps
    before, and has not collapsed. Raises ValueError for an empty run or a share outside [0, 1].
    """
    if not unsolved_T.size or not ((unsolved_T >= 0) & (unsolved_T <= 1)).all():
        raise ValueError("needs a share in [0, 1] for each of one step or more")
    width = steps_of(window, unsolved_T.size)
    means = np.convolve(unsolved_T, np.ones(width) / width, mode="valid")
    before, last = means[:-width], float(means[-1])
    if not before.size:
        return Verdict(last, math.nan, False)
    smallest = float(before.min())
    # Means of equal shares differ in their last bits.
    risen = last > factor * smallest + 1e-12 and last - smallest >= share - 1e-12
    return Verdict(last, smallest, risen)


def steps_of(window: float, steps: int) -> int:
    return max(1, round(window * steps))


def of_run(runs: Runs, run: str, rule: dict[str, Any]) -> Verdict:
    """Whether a run has collapsed by a rule (`collapse:` in config/defaults.yaml)."""
    return judge(np.array(unsolved_shares(runs[run][METRICS], run)), **rule)


def unsolved_shares(rows: list[dict[str, Any]], run: str) -> list[float]:
    """Shares, since dynamic sampling draws more prompts at one step than at another."""
    return [value_of(row, "unsolved", run) / value_of(row, "prompts_drawn", run) for row in rows]

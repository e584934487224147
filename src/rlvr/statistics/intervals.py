"""Intervals, each named after what it covers.

Dimensions: S training seeds, N problems, B bootstrap draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float


class SeedsAndProblems:
    """Two-way bootstrap: training seeds and problems are both drawn again, with replacement.

    It covers "other seeds and other problems of this kind". The same draws serve every cell of a table, so
    that differences are paired by problem and by seed. With one seed (a base policy) only the problems vary,
    and with few seeds the interval is on the narrow side: a bootstrap over S seeds sees (S - 1) / S of their
    variance.
    """

    def __init__(self, seeds: int, problems: int, *, resamples: int, confidence: float, generator: np.random.Generator):
        self.seeds_BS = _draw(seeds, resamples, generator)
        self.problems_BN = _draw(problems, resamples, generator)
        self.tail = (1 - confidence) / 2

    def of(self, scores_SN: Matrix) -> Interval:
        """Of the mean over seeds and problems. A matrix with one row is a policy without a training seed."""
        return self._interval(scores_SN.mean(), self.draws(scores_SN))

    def of_difference(self, left_SN: Matrix, right_SN: Matrix) -> Interval:
        """Of mean(left) - mean(right), paired."""
        return self._interval(left_SN.mean() - right_SN.mean(), self.draws(left_SN) - self.draws(right_SN))

    def draws(self, scores_SN: Matrix) -> NDArray[np.float64]:
        rows = self.seeds_BS if len(scores_SN) > 1 else np.ones((len(self.problems_BN), 1))
        if scores_SN.shape != (rows.shape[1], self.problems_BN.shape[1]):
            raise ValueError(f"scores are {scores_SN.shape}, not {rows.shape[1]} seeds x {self.problems_BN.shape[1]}")
        return np.einsum("bs,sn,bn->b", rows, scores_SN, self.problems_BN, optimize=True)

    def _interval(self, estimate: float, draws: NDArray[np.float64]) -> Interval:
        low, high = np.quantile(draws, [self.tail, 1 - self.tail])
        return Interval(float(estimate), float(low), float(high))


def _draw(count: int, resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Weights of a bootstrap sample: how often each of `count` things was drawn, over `count`."""
    return generator.multinomial(count, np.full(count, 1 / count), size=resamples) / count


def over_seeds(values_S: Matrix, confidence: float) -> Interval:
    """Student's t over training seeds alone, for curves; NaN bounds for a single seed."""
    mean = float(np.mean(values_S))
    if len(values_S) < 2:
        return Interval(mean, float("nan"), float("nan"))
    half = stats.t.ppf((1 + confidence) / 2, len(values_S) - 1) * stats.sem(values_S)
    return Interval(mean, mean - float(half), mean + float(half))

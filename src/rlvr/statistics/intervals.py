"""Intervals, each named after the variation that it covers.

Dimensions: S training seeds, N problems, B bootstrap draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlvr.statistics.pass_at_k import pass_at_k

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Interval):
    p: float  # of the hypothesis of no difference


class SeedsAndProblems:
    """Two-way bootstrap: it resamples training seeds and problems, with replacement.

    It covers "other seeds and other problems of this kind". All cells of a table share the draws, so differences are
    paired by problem and by seed. With one seed (a base policy) only the problems vary. With few seeds the interval is
    rather narrow: a bootstrap over S seeds sees (S - 1) / S of their variance.
    """

    def __init__(self, seeds: int, problems: int, *, resamples: int, confidence: float, generator: np.random.Generator):
        self.seeds_BS = draw(seeds, resamples, generator)
        self.problems_BN = draw(problems, resamples, generator)
        self.tail = (1 - confidence) / 2

    def of(self, scores_SN: Matrix) -> Interval:
        """The interval of the mean over seeds and problems. One row is a policy without a training seed."""
        return from_draws(self.mean(scores_SN), self.draws(scores_SN), self.tail)

    def of_difference(self, left_SN: Matrix, right_SN: Matrix) -> Difference:
        """The interval of mean(left) - mean(right), paired."""
        difference_SN = left_SN - right_SN  # a policy without a training seed is compared with every seed
        draws = self.draws(difference_SN)
        interval = from_draws(self.mean(difference_SN), draws, self.tail)
        return Difference(interval.estimate, interval.low, interval.high, two_sided_p(draws))

    def mean(self, scores_SN: Matrix) -> float:
        return float(scores_SN.mean())

    def draws(self, scores_SN: Matrix) -> NDArray[np.float64]:
        rows = self._rows(scores_SN)
        return ((self.problems_BN @ scores_SN.T) * rows).sum(axis=1)

    def _rows(self, scores_SN: Matrix) -> NDArray[np.float64]:
        """The weight of each seed in each draw (B, S)."""
        rows = self.seeds_BS if len(scores_SN) > 1 else np.ones((len(self.problems_BN), 1))
        if scores_SN.shape != (rows.shape[1], self.problems_BN.shape[1]):
            raise ValueError(f"scores are {scores_SN.shape}, not {rows.shape[1]} seeds x {self.problems_BN.shape[1]}")
        return rows


class SeedsAndKnownProblems(SeedsAndProblems):
    """The same for a measure that some problems lack (NaN): a seed's mean covers the problems with a value.

    A difference covers, per seed, the problems where both have a value, so it can differ from the difference of the
    means. Draws without any value are left out.
    """

    def mean(self, scores_SN: Matrix) -> float:
        known_SN = ~np.isnan(scores_SN)
        seeds = known_SN.any(axis=1)
        return float(np.nanmean(scores_SN[seeds], axis=1).mean()) if seeds.any() else float("nan")

    def draws(self, scores_SN: Matrix) -> NDArray[np.float64]:
        known_SN = ~np.isnan(scores_SN)
        weights_BS = self.problems_BN @ known_SN.T.astype(float)
        sums_BS = self.problems_BN @ np.where(known_SN, scores_SN, 0.0).T
        means_BS = np.divide(sums_BS, weights_BS, out=np.zeros_like(sums_BS), where=weights_BS > 0)
        rows_BS = self._rows(scores_SN) * (weights_BS > 0)
        drawn = rows_BS.sum(axis=1) > 0
        return (means_BS * rows_BS).sum(axis=1)[drawn] / rows_BS.sum(axis=1)[drawn]


def from_draws(estimate: float, draws: NDArray[np.float64], tail: float) -> Interval:
    """The percentile interval of bootstrap draws; NaN bounds where there are none."""
    if not len(draws):
        return Interval(float(estimate), float("nan"), float("nan"))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(float(estimate), float(low), float(high))


def two_sided_p(draws: NDArray[np.float64]) -> float:
    """The p-value of no difference, from draws of a difference: 2 (1 + #{draws on the rarer side of 0}) / (B + 1).

    At this level the percentile interval reaches 0 (Davison & Hinkley 1997, sec. 4.4). Draws at 0 count on both sides;
    p is at most 1. With few seeds it is too small, as the intervals are too narrow.
    """
    if not len(draws):
        return float("nan")
    rarer = min((draws <= 0).sum(), (draws >= 0).sum())
    return min(1.0, 2 * (1 + int(rarer)) / (len(draws) + 1))


def draw(count: int, resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The weights of bootstrap samples: how often each of `count` units was drawn, over `count`."""
    return generator.multinomial(count, np.full(count, 1 / count), size=resamples) / count


def over_seeds(values_S: Matrix, confidence: float) -> Interval:
    """Student's t interval over training seeds only, for curves; NaN bounds for a single seed."""
    mean = float(np.mean(values_S))
    if len(values_S) < 2:
        return Interval(mean, float("nan"), float("nan"))
    from scipy import stats  # takes half a second, which planning need not wait for

    half = stats.t.ppf((1 + confidence) / 2, len(values_S) - 1) * stats.sem(values_S)
    return Interval(mean, mean - float(half), mean + float(half))


def over_samples(n_N: NDArray[np.int64], c_N: NDArray[np.int64], k: int, confidence: float) -> Interval:
    """The interval of pass@k on these problems for other samples of the same policy.

    Each problem's variance of the unbiased estimator is exact: the sum over c ~ Binomial(n, p) with Jeffreys'
    p = (c + 1/2) / (n + 1), which is positive even if no or all samples are correct. The interval is normal.
    """
    from scipy import stats

    values = pass_at_k(n_N, c_N, k)
    variances, cache = np.empty(len(values)), {}
    for i, (n, c) in enumerate(zip(n_N.tolist(), c_N.tolist(), strict=True)):
        if (n, c) not in cache:
            counts = np.arange(n + 1)
            chance, value = stats.binom.pmf(counts, n, (c + 0.5) / (n + 1)), pass_at_k(n, counts, k)
            cache[n, c] = float(chance @ value**2 - (chance @ value) ** 2)
        variances[i] = cache[n, c]
    mean, half = (
        float(values.mean()),
        stats.norm.ppf((1 + confidence) / 2) * np.sqrt(max(variances.sum(), 0.0)) / len(values),
    )
    return Interval(mean, max(0.0, mean - float(half)), min(1.0, mean + float(half)))


def over_problems(values_N: Matrix, *, resamples: int, confidence: float, generator: np.random.Generator) -> Interval:
    """The interval of the mean for other problems of this kind: BCa bootstrap (Efron 1987), by scipy.

    Equal values have no spread, so the interval is a point. One problem has none (NaN).
    """
    mean = float(values_N.mean())
    if len(values_N) < 2:
        return Interval(mean, float("nan"), float("nan"))
    if np.ptp(values_N) == 0:
        return Interval(mean, mean, mean)
    from scipy import stats

    interval = stats.bootstrap(
        (values_N,), np.mean, n_resamples=resamples, confidence_level=confidence, method="BCa", rng=generator, batch=500
    ).confidence_interval
    return Interval(mean, float(interval.low), float(interval.high))

"""Intervals, each named after the variation that it covers.

Dimensions: S training seeds, N problems.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rlvr.config.measures import ANY, SHARE, Range, of_difference
from rlvr.statistics.pass_at_k import pass_at_k

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float

    def within(self, possible: Range) -> Self:
        """The part of the interval within the range of its measure, where the true value is: no coverage is lost."""
        return replace(self, low=float(np.clip(self.low, *possible)), high=float(np.clip(self.high, *possible)))


@dataclass(frozen=True)
class Difference(Interval):
    p: float  # of the hypothesis of no difference


class SeedsAndProblems:
    """The interval of a mean over training seeds and problems, for other seeds and other problems of this kind.

    Each seed scores all problems, so the mean's variance is that of a two-way random-effects design (Searle, Casella &
    McCulloch 1992, ch. 4; `two_way`), and the interval is Student's t with Satterthwaite's degrees of freedom. All
    methods score the same problems and share seeds, so differences are paired by both. A policy without a training
    seed has one row, and only the problems vary. Intervals end where the measure's `possible` range ends, and those of
    differences where the difference of two such values does.
    """

    def __init__(self, confidence: float, possible: Range = ANY):
        self.tail, self.possible = (1 - confidence) / 2, possible

    def of(self, scores_SN: Matrix) -> Interval:
        """The interval of the mean over seeds and problems."""
        found = two_way(self._known(scores_SN))
        return _symmetric(found.mean, found.half_width(self.tail)).within(self.possible)

    def of_difference(self, left_SN: Matrix, right_SN: Matrix) -> Difference:
        """The interval of mean(left) - mean(right), paired, and its two-sided p."""
        difference_SN = left_SN - right_SN  # a policy without a training seed is compared with every seed
        found = two_way(self._known(difference_SN))
        interval = _symmetric(found.mean, found.half_width(self.tail)).within(of_difference(self.possible))
        p = found.p_above(0.0)
        return Difference(interval.estimate, interval.low, interval.high, 2 * min(p, 1 - p))

    def _known(self, scores_SN: Matrix) -> Matrix:
        return scores_SN


class SeedsAndKnownProblems(SeedsAndProblems):
    """The same for a measure that some problems lack (NaN): a seed's mean covers the problems with a value.

    A difference covers, per seed, the problems where both have a value, so it can differ from the difference of the
    means. Seeds without any value are left out.
    """

    def _known(self, scores_SN: Matrix) -> Matrix:
        return linearised(scores_SN)


def linearised(scores_SN: Matrix) -> Matrix:
    """A matrix without NaN whose rows have the means of the known values, and the influence of each on that mean.

    With m_s the mean of seed s over its share a_s of known problems, an entry is m_s + (x_sn - m_s) / a_s where known,
    else m_s. Rows without any value are left out.
    """
    known_SN = ~np.isnan(scores_SN)
    rows = known_SN.any(axis=1)
    scores_SN, known_SN = scores_SN[rows], known_SN[rows]
    if not len(scores_SN):
        return scores_SN
    means_S1 = np.nanmean(scores_SN, axis=1)[:, None]
    shares_S1 = known_SN.mean(axis=1)[:, None]
    return np.where(known_SN, means_S1 + (np.nan_to_num(scores_SN) - means_S1) / shares_S1, means_S1)


@dataclass(frozen=True)
class Spread:
    """A mean with several standard errors and their degrees of freedom; the widest interval is used."""

    mean: float
    errors: tuple[tuple[float, float], ...]  # none where nothing varies that could be measured

    def half_width(self, tail: float) -> float:
        """Of the interval with this probability beyond each end; NaN where there is none."""
        from scipy import special  # scipy.stats takes half a second, which planning need not wait for

        widths = [float(special.stdtrit(freedom, 1 - tail)) * error for error, freedom in self.errors]
        return max(widths, default=float("nan"))

    def p_above(self, threshold: float) -> float:
        """The one-sided p of "the true mean is at most the threshold"; the nearest to 1/2 of all errors."""
        from scipy import special

        distance = self.mean - threshold
        found = [
            float(special.stdtr(freedom, -distance / error)) if error else 0.5 * (1 - np.sign(distance))
            for error, freedom in self.errors
        ]
        return min(found, key=lambda p: abs(p - 0.5), default=float("nan"))


def two_way(scores_SN: Matrix) -> Spread:
    """The mean of scores over seeds and problems, with the error of a two-way random-effects design.

    x_sn = mu + a_s + b_n + e_sn. With V_S = var of the seeds' means / S, V_N = var of the problems' means / N and V_E =
    var of the remainder / (S N), the variance of the mean is V_S + V_N - V_E in expectation, since the remainder is
    in both of the first; degrees of freedom by Satterthwaite (1946). With few seeds these are themselves estimates: so
    the interval is at least as wide as Student's t of the seeds' means, and of the problems'. One row (or one column)
    has the error of its own mean; one entry has none.
    """
    if not scores_SN.size:
        return Spread(float("nan"), ())
    mean, means = float(scores_SN.mean()), [scores_SN.mean(axis=1), scores_SN.mean(axis=0)]
    variances = [(float(np.var(of, ddof=1)) / len(of), len(of) - 1) for of in means if len(of) > 1]
    errors = [(float(np.sqrt(variance)), float(freedom)) for variance, freedom in variances]
    if len(variances) == 2 and any(variance for variance, _ in variances):
        (of_seeds, seeds), (of_problems, problems) = variances
        rest_SN = scores_SN - means[0][:, None] - means[1] + mean
        rest = float((rest_SN**2).sum()) / (seeds * problems) / scores_SN.size
        total = max(of_seeds + of_problems - rest, 0.0)
        squares = of_seeds**2 / seeds + of_problems**2 / problems + rest**2 / (seeds * problems)
        errors.append((float(np.sqrt(total)), max(total**2 / squares, min(seeds, problems))))
    return Spread(mean, tuple(errors))


def _symmetric(mean: float, half: float) -> Interval:
    return Interval(mean, mean - half, mean + half)


def over_seeds(values_S: Matrix, confidence: float, possible: Range = ANY) -> Interval:
    """Student's t interval over training seeds only, for curves, within its possible range; NaN for a single seed."""
    mean = float(np.mean(values_S))
    if len(values_S) < 2:
        return Interval(mean, float("nan"), float("nan"))
    from scipy import stats  # takes half a second, which planning need not wait for

    half = stats.t.ppf((1 + confidence) / 2, len(values_S) - 1) * stats.sem(values_S)
    return _symmetric(mean, float(half)).within(possible)


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
    half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(max(variances.sum(), 0.0)) / len(values)
    return _symmetric(float(values.mean()), float(half)).within(SHARE)


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

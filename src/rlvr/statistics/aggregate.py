"""One number per method over several benchmarks, with an interval.

Dimensions: S training seeds (runs), M benchmarks, N problems of a benchmark.
"""

from collections.abc import Callable, Sequence

import numpy as np

from rlvr.config.measures import ANY, Range
from rlvr.statistics.intervals import Difference, Interval, Matrix, SeedsAndProblems

Aggregate = Callable[[Matrix], Matrix]  # (..., S, M) -> (...)

TRIMMED = 0.25  # of the scores at each end
STEP = 1e-7  # of differences that stand for derivatives


def mean(scores_SM: Matrix) -> Matrix:
    """The mean over runs and benchmarks; all benchmarks have equal weight."""
    return scores_SM.mean(axis=(-2, -1))


def iqm(scores_SM: Matrix) -> Matrix:
    """The interquartile mean (Agarwal et al. 2021, sec. 4.3): the mean of the middle half of runs x benchmarks scores.

    scipy.stats.trim_mean leaves out floor(S M / 4) scores at each end: with fewer than four it is the mean. For one
    benchmark it is the trimmed mean over its runs.
    """
    from scipy import stats  # slow to import; planning does not need it

    flat = scores_SM.reshape(*scores_SM.shape[:-2], -1)
    return stats.trim_mean(flat, TRIMMED, axis=-1)


class RunsAndProblemsByBenchmark:
    """The interval of an aggregate over benchmarks, for other training runs and other problems of each benchmark.

    It does not cover other benchmarks. All benchmarks score the same runs, so a run varies with all its scores. Agarwal
    et al. train one run per task, which is another design. Differences are paired by run, benchmark and problem.

    A policy without a training seed (a base policy) is repeated for each run, so trimming affects all methods equally.
    """

    def __init__(self, seeds: int, confidence: float, possible: Range = ANY):
        self.seeds, self.intervals = seeds, SeedsAndProblems(confidence, possible)

    def of(self, aggregate: Aggregate, scores: Sequence[Matrix]) -> Interval:
        """The interval of an aggregate. `scores`: (S, N) per benchmark; (1, N) for a policy without a training seed."""
        return self.intervals.of(self.linearised(aggregate, scores))

    def of_difference(self, aggregate: Aggregate, left: Sequence[Matrix], right: Sequence[Matrix]) -> Difference:
        """The interval of aggregate(left) - aggregate(right), paired."""
        return self.intervals.of_difference(self.linearised(aggregate, left), self.linearised(aggregate, right))

    def linearised(self, aggregate: Aggregate, scores: Sequence[Matrix]) -> Matrix:
        """A matrix (S, sum of N) with the aggregate as its mean, and the influence of each entry on it.

        A row's mean is the jackknife's value of its run, S A - (S - 1) A without it, shifted so that all together have
        the mean A. An entry adds its distance from its run's mean on its benchmark times the derivative of A by that
        mean, over N. For the mean over benchmarks both are exact.
        """
        scores = [np.repeat(part, self.seeds, axis=0) if len(part) == 1 else part for part in scores]
        sizes = [part.shape[1] for part in scores]
        means_SM = np.stack([part.mean(axis=1) for part in scores], axis=-1)
        whole, slopes_SM = float(aggregate(means_SM)), _derivative(aggregate, means_SM)
        runs_S = np.full(self.seeds, whole)
        if self.seeds > 1:
            without_S = np.array([aggregate(np.delete(means_SM, s, axis=0)) for s in range(self.seeds)])
            runs_S = whole - (self.seeds - 1) * (without_S - without_S.mean())
        parts = [
            self.seeds * (sum(sizes) / size) * slopes_SM[:, [b]] * (part - means_SM[:, [b]])
            for b, (part, size) in enumerate(zip(scores, sizes, strict=True))
        ]
        return runs_S[:, None] + np.concatenate(parts, axis=1)


def _derivative(aggregate: Aggregate, means_SM: Matrix) -> Matrix:
    """Of an aggregate by each score, as central differences."""
    steps = STEP * np.eye(means_SM.size).reshape(-1, *means_SM.shape)
    return ((aggregate(means_SM + steps) - aggregate(means_SM - steps)) / (2 * STEP)).reshape(means_SM.shape)

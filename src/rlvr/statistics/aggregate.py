"""One number per method over several benchmarks, with an interval.

Dimensions: S training seeds (runs), M benchmarks, N problems of a benchmark, B bootstrap draws.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rlvr.statistics.intervals import Difference, Interval, draw, from_draws, two_sided_p

Matrix = NDArray[np.float64]
Aggregate = Callable[[Matrix], Matrix]  # (..., S, M) -> (...)

TRIMMED = 0.25  # of the scores at each end


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
    """Stratified bootstrap: it resamples training runs, and problems within each benchmark.

    It covers "other training runs, and other problems of each of these benchmarks", not other benchmarks. All
    benchmarks score the same runs, so a draw takes a run with all its scores (`shared_runs`). Agarwal et al. train one
    run per task and draw runs per task (`shared_runs=False`), which is too narrow where a run that is good on one
    benchmark is good on the next. All cells of a table share the draws: differences are paired by run, benchmark and
    problem. Like every bootstrap over few runs, it is rather narrow.

    A policy without a training seed (a base policy) is repeated for each run, so trimming affects all methods equally.
    """

    def __init__(
        self,
        seeds: int,
        problems: Sequence[int],
        *,
        resamples: int,
        confidence: float,
        generator: np.random.Generator,
        shared_runs: bool = True,
    ):
        self.seeds, self.tail = seeds, (1 - confidence) / 2
        runs = [generator.integers(seeds, size=(resamples, seeds)) for _ in range(1 if shared_runs else len(problems))]
        self.runs = runs * len(problems) if shared_runs else runs  # a (B, S) array of indices for each benchmark
        self.problems = [draw(count, resamples, generator) for count in problems]

    def of(self, aggregate: Aggregate, scores: Sequence[Matrix]) -> Interval:
        """The interval of an aggregate. `scores`: (S, N) per benchmark; (1, N) for a policy without a training seed."""
        return from_draws(self._estimate(aggregate, scores), self.draws(aggregate, scores), self.tail)

    def of_difference(self, aggregate: Aggregate, left: Sequence[Matrix], right: Sequence[Matrix]) -> Difference:
        """The interval of aggregate(left) - aggregate(right) on the same draws; p as in `intervals.two_sided_p`."""
        draws = self.draws(aggregate, left) - self.draws(aggregate, right)
        estimate = self._estimate(aggregate, left) - self._estimate(aggregate, right)
        interval = from_draws(estimate, draws, self.tail)
        return Difference(interval.estimate, interval.low, interval.high, two_sided_p(draws))

    def draws(self, aggregate: Aggregate, scores: Sequence[Matrix]) -> Matrix:
        columns = []
        for scores_SN, runs_BS, problems_BN in zip(self._full(scores), self.runs, self.problems, strict=True):
            if scores_SN.shape != (self.seeds, problems_BN.shape[1]):
                raise ValueError(f"scores are {scores_SN.shape}, not {self.seeds} seeds x {problems_BN.shape[1]}")
            columns.append(np.take_along_axis(problems_BN @ scores_SN.T, runs_BS, axis=1))
        return aggregate(np.stack(columns, axis=-1))

    def _estimate(self, aggregate: Aggregate, scores: Sequence[Matrix]) -> float:
        return float(aggregate(np.stack([scores_SN.mean(axis=1) for scores_SN in self._full(scores)], axis=-1)))

    def _full(self, scores: Sequence[Matrix]) -> list[Matrix]:
        return [np.repeat(part, self.seeds, axis=0) if len(part) == 1 else part for part in scores]

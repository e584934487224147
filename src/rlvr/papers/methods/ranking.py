"""Many methods against each other: ranks, probability of improvement, and who can be told apart.

Dimensions: A methods, S training seeds, N problems, B draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rlvr.config.layouts import CellLayout, ScoresLayout
from rlvr.statistics.frontier import OnCurve
from rlvr.statistics.intervals import Interval, Matrix
from rlvr.statistics.scores import Scores, matrix, pass_at
from rlvr.statistics.table_rows import against_baseline, blocks, frames_of

DRAWS = 2000


def ranks(scores: Sequence[Matrix], *, confidence: float, generator: np.random.Generator) -> list[Interval]:
    """The rank of each method's mean, 1 for the highest, with percentile intervals (ties share the mean rank).

    From draws of seeds and of problems with replacement, the same for all methods (the pigeonhole bootstrap, Owen
    2007, whose intervals are rather too wide than too narrow). A policy without a training seed has one row.
    """
    seeds, problems = max(len(part) for part in scores), scores[0].shape[1]
    whole_ASN = np.stack([np.broadcast_to(part, (seeds, problems)) for part in scores])
    rows_BS, columns_BN = (generator.multinomial(n, np.full(n, 1 / n), size=DRAWS) / n for n in (seeds, problems))
    means_BA = np.stack([((rows_BS @ one_SN) * columns_BN).sum(axis=1) for one_SN in whole_ASN], axis=1)
    drawn_BA = _ranks(means_BA)
    tail = (1 - confidence) / 2
    low_A, high_A = np.quantile(drawn_BA, [tail, 1 - tail], axis=0, method="inverted_cdf")
    found_A = _ranks(whole_ASN.mean(axis=(1, 2)))
    return [Interval(*values) for values in zip(found_A, low_A, high_A, strict=True)]


def _ranks(means_A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of means (..., A), 1 for the highest."""
    from scipy import stats  # slow to import; planning does not need it

    return stats.rankdata(-means_A, axis=-1)


def probability_of_improvement(
    left_S: NDArray[np.float64], right_S: NDArray[np.float64], *, confidence: float, generator: np.random.Generator
) -> Interval:
    """P(X > Y) + P(X = Y) / 2 for a run X of one method and a run Y of another (Agarwal et al. 2021, sec. 4.3).

    The Mann-Whitney statistic over all pairs of runs, with the percentile interval of drawn runs. 1/2: no difference.
    """

    def of(x_BS: NDArray[np.float64], y_BS: NDArray[np.float64]) -> NDArray[np.float64]:
        difference = x_BS[:, :, None] - y_BS[:, None, :]
        return ((difference > 0) + 0.5 * (difference == 0)).mean(axis=(1, 2))

    drawn_B = of(_drawn(left_S, generator), _drawn(right_S, generator))
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn_B, [tail, 1 - tail])
    return Interval(float(of(left_S[None], right_S[None])[0]), float(low), float(high))


def _drawn(runs_S: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    return runs_S[generator.integers(len(runs_S), size=(DRAWS, len(runs_S)))]


@dataclass(frozen=True)
class Methods:
    """The methods of one model and benchmark, one of them the baseline, and the scores of their policies."""

    benchmark: str
    evaluation: str
    cells: list[CellLayout]
    baseline: CellLayout
    frames: dict[str, pd.DataFrame]

    @property
    def policies(self) -> list[str]:
        """Those of the methods at the common rate, without the others of the baseline's curve."""
        return [policy for cell in self.cells for policy in cell.policies]

    def pass_at(self, k: int, policies: Sequence[str]) -> Matrix:
        """pass@k (S, N) of policies."""
        return matrix([self.frames[policy] for policy in policies], pass_at(k))

    def at_equal(self, k: int, cell: CellLayout) -> Matrix | None:
        """pass@k (S, N) less that of the baseline's curve at the method's pass@1; None where the curve lacks it.

        Of the baseline itself it is 0.
        """
        own_SN = self.pass_at(k, cell.policies)
        if cell == self.baseline:
            return np.zeros_like(own_SN)
        against = against_baseline(cell, self.baseline, self.frames, pass_at(k))
        return own_SN - against.score_SN if isinstance(against, OnCurve) else None


def methods_at(layout: ScoresLayout, scores: Scores) -> Iterator[Methods]:
    """The methods of each model and benchmark of a layout with a baseline."""
    for panel, cells, baseline in blocks(layout):
        evaluation = panel.evaluations[cells[0].model]
        yield Methods(panel.name, evaluation, cells, baseline, frames_of(scores, cells, evaluation))  # type: ignore[arg-type]

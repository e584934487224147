"""Joint bounds of several estimates from the same seeds and problems (max-t).

Dimensions: C cells, S training seeds, N problems, B draws.

Cells of one claim, such as the same difference at several k, vary together, which Bonferroni's bounds ignore. Each
cell's t has its own degrees of freedom, so cells are compared by p (Westfall & Young 1993, min-P): the p of all cells
around their true values are taken to depend on each other as normal variables do (Hothorn, Bretz & Westfall 2008) whose
correlations are those of the two-way random-effects design (`rlvr.statistics.intervals.two_way`), times 1 - 1/S where
seeds are shared: correlations of few seeds are themselves estimates.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rlvr.statistics.intervals import Matrix, Spread, two_way


@dataclass(frozen=True)
class ScoreCell:
    """An estimate as the mean of a matrix (S, N), and what it shares: equal keys are the same seeds or problems."""

    scores_SN: Matrix
    seeds: Hashable
    problems: Hashable


@dataclass(frozen=True)
class Joint:
    """Each cell's spread, and B draws of the largest absolute normal variable of all cells."""

    spreads: list[Spread]
    largest_B: NDArray[np.float64]
    confidence: float

    def half_widths(self) -> list[float]:
        """Of intervals that hold all true values together with the confidence; for one cell Student's."""
        from scipy import special  # a plan loads this module, and no scipy for it

        p = 1 - self.confidence
        if len(self.spreads) > 1:
            p = min(p, 2 * float(special.ndtr(-np.quantile(self.largest_B, self.confidence))))
        return [one.half_width(p / 2) for one in self.spreads]

    def p(self, cell: int, distance: float) -> float:
        """The p, adjusted for all cells, of a cell's mean so far from a threshold; 1 for a negative distance."""
        from scipy import special

        one = self.spreads[cell]
        if not one.errors or distance <= 0:
            return 1.0
        own = 2 * one.p_above(one.mean - distance)
        if len(self.spreads) == 1 or not own:
            return own
        as_far = int((self.largest_B >= -special.ndtri(own / 2)).sum())
        return max(own, (1 + as_far) / (len(self.largest_B) + 1))


def joint(cells: Sequence[ScoreCell], *, confidence: float, resamples: int, generator: np.random.Generator) -> Joint:
    """The joint distribution of the cells' errors."""
    spreads = [two_way(cell.scores_SN) for cell in cells]
    if len(cells) < 2:
        return Joint(spreads, np.empty(0), confidence)
    values, vectors = np.linalg.eigh(correlations(cells))
    root_CC = vectors * np.sqrt(np.maximum(values, 0.0))
    root_CC /= np.linalg.norm(root_CC, axis=1, keepdims=True)  # where negative eigenvalues were left out
    normal_BC = generator.standard_normal((resamples, len(cells))) @ root_CC.T
    return Joint(spreads, np.abs(normal_BC).max(axis=1), confidence)


def correlations(cells: Sequence[ScoreCell]) -> Matrix:
    """The correlations (C, C) of the cells' means, estimated as their variances are, and shrunk."""
    parts = [_parts(cell) for cell in cells]
    found = np.eye(len(cells))
    for i, j in combinations(range(len(cells)), 2):
        same = {name: getattr(cells[i], name) == getattr(cells[j], name) for name in ("seeds", "problems")}
        scale = math.sqrt(parts[i].variance * parts[j].variance)
        covariance = _shared(parts[i], parts[j], **same)
        shrunk = 1 - 1 / len(parts[i].seeds_S) if same["seeds"] and len(parts[i].seeds_S) > 1 else 1.0
        found[i, j] = found[j, i] = shrunk * np.clip(covariance / scale, -1, 1) if scale > 0 else 0.0
    return found


@dataclass(frozen=True)
class _Parts:
    """Deviations of the means of seeds and of problems, the remainder, and the variance of the mean."""

    seeds_S: Matrix
    problems_N: Matrix
    rest_SN: Matrix

    @property
    def variance(self) -> float:
        return _shared(self, self, seeds=True, problems=True)


def _parts(cell: ScoreCell) -> _Parts:
    centred_SN = cell.scores_SN - cell.scores_SN.mean()
    seeds_S, problems_N = centred_SN.mean(axis=1), centred_SN.mean(axis=0)
    return _Parts(seeds_S, problems_N, centred_SN - seeds_S[:, None] - problems_N)


def _shared(one: _Parts, other: _Parts, *, seeds: bool, problems: bool) -> float:
    """The covariance of two means that share seeds or problems, or the variance of one."""
    seeds &= len(one.seeds_S) == len(other.seeds_S) > 1
    problems &= len(one.problems_N) == len(other.problems_N) > 1
    total = 0.0
    if seeds:
        total += _covariance(one.seeds_S, other.seeds_S)
    if problems:
        total += _covariance(one.problems_N, other.problems_N)
    if seeds and problems:
        freedom = (len(one.seeds_S) - 1) * (len(one.problems_N) - 1)
        rest = float((one.rest_SN * other.rest_SN).sum()) / freedom / one.rest_SN.size
        if one is not other or total > rest:
            total -= rest
    return total


def _covariance(one: Matrix, other: Matrix) -> float:
    """Of two means over the same units, from the units' deviations."""
    return float(one @ other) / (len(one) - 1) / len(one)

"""Comparisons at equal pass@1: each method's pass@k where its pass@1 is the baseline's.

At one learning rate a comparison of weights is also one of step sizes: larger weights take larger steps, which raises
pass@1 and lowers pass@k together. So each method is trained at several rates, and its policies, from the base policy on
in the order of their rates, give a curve of (pass@1, pass@k). Methods are compared where the curves have the pass@1
that the baseline has at the paper's setting. No rate is chosen: the point on the curve is an interpolation of two.

Dimensions: S training seeds, N problems (or clusters).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlvr.config.layouts import Rate
from rlvr.statistics.intervals import Matrix


@dataclass(frozen=True)
class Point:
    """The policies of a method at one learning rate (0 for the base policy): pass@1 and another score, each (S, N)."""

    rate: float
    pass_1_SN: Matrix
    score_SN: Matrix


@dataclass(frozen=True)
class AtEqualPass1:
    """A method's score where its pass@1 is the baseline's: the mean of `score_SN`, whose entries vary as it does.

    `rate` is the learning rate between those of the two points, by the same share.
    """

    score_SN: Matrix
    rate: float | None


def on_curve(
    rates: Sequence[Rate],
    at: Sequence[str],
    pass_1: Callable[[Sequence[str]], Matrix],
    score: Callable[[Sequence[str]], Matrix],
) -> AtEqualPass1 | None:
    """The score of a method at the pass@1 of the policies `at`; None beyond the ends of its curve.

    `rates` has its learning rates in order (the base policy's is 0), each with its policies; `pass_1` and `score` give
    the matrix (S, N) of policies.
    """
    points = [Point(rate.learning_rate or 0.0, pass_1(rate.policies), score(rate.policies)) for rate in rates]
    return at_pass_1(points, pass_1(at))


def at_pass_1(points: Sequence[Point], baseline_SN: Matrix) -> AtEqualPass1 | None:
    """The score on a method's curve at the mean of `baseline_SN`, the pass@1 of the baseline; None beyond its ends.

    Points stand in the order of their rates. With x and y a point's pass@1 and score and x0 the baseline's pass@1, the
    first two neighbours a and b with x0 between x_a and x_b give y = (1 - w) y_a + w y_b, w = (x0 - x_a) / (x_b - x_a).
    The entries are those of its linearisation (delta method): (1 - w) Y_a + w Y_b + slope (X0 - (1 - w) X_a - w X_b)
    with slope = (y_b - y_a) / (x_b - x_a), so that the noise of all three pass@1 is in its interval.
    """
    x0 = float(baseline_SN.mean())
    for a, b in pairwise(points):
        x_a, x_b = float(a.pass_1_SN.mean()), float(b.pass_1_SN.mean())
        if not min(x_a, x_b) <= x0 <= max(x_a, x_b):
            continue
        rise = float(b.score_SN.mean()) - float(a.score_SN.mean())
        w, slope = ((x0 - x_a) / (x_b - x_a), rise / (x_b - x_a)) if x_a != x_b else (0.0, 0.0)  # the first of equals
        between_SN = (1 - w) * a.score_SN + w * b.score_SN
        between_SN = between_SN + slope * (baseline_SN - (1 - w) * a.pass_1_SN - w * b.pass_1_SN)
        return AtEqualPass1(between_SN, (1 - w) * a.rate + w * b.rate)
    return None

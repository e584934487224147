"""Comparisons at equal pass@1: a method's pass@k against the baseline's where it has the method's pass@1.

At one learning rate a comparison of weights is also one of step sizes: larger weights take larger steps, which raises
pass@1 and lowers pass@k together. So the baseline is trained at several rates, its knots, and the method at its own.
Over the square root of the rate the baseline's pass@1 and its score are quadratics, fitted to the knots by least
squares (local polynomial regression, Fan & Gijbels 1996). The method is compared with the score at the rate at which
the fitted pass@1 is the method's. Over the square root of the rate both are closer to quadratics than over the rate or
its logarithm. The base policy is no knot: the chord from it to the first rate is long.

Dimensions: S training seeds, N problems (or clusters), K knots.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import copysign, sqrt

import numpy as np

from rlvr.config.layouts import Rate
from rlvr.statistics.intervals import Matrix

LEAST = 3  # knots of a quadratic
NEAR = 7  # knots of a fit: of a longer curve those around the point
STEEP = 0.1  # of the largest slope of pass@1 over the knots: where it is less, no rate can be read from pass@1
ROUNDED = 1e-9  # of the range of the knots
PERCENT = 100.0


@dataclass(frozen=True)
class Knot:
    """The baseline's policies at one learning rate: pass@1 and another score, each (S, N)."""

    rate: float
    pass_1_SN: Matrix
    score_SN: Matrix


@dataclass(frozen=True)
class OnCurve:
    """The baseline's score at a method's pass@1, the mean of `score_SN`, whose entries vary as it does; its rate."""

    score_SN: Matrix
    rate: float | None


@dataclass(frozen=True)
class OutOfReach:
    """Why the baseline has no such score."""

    reason: str


def on_curve(
    rates: Sequence[Rate],
    own: Sequence[str],
    pass_1: Callable[[Sequence[str]], Matrix],
    score: Callable[[Sequence[str]], Matrix],
) -> OnCurve | OutOfReach:
    """The baseline's score at the pass@1 of the policies `own`. None of them is in the curve.

    `rates` has the baseline's learning rates in order, each with its policies; `pass_1` and `score` give the matrix
    (S, N) of policies.
    """
    others = [rate for rate in rates if not set(rate.policies) & set(own)]
    knots = [Knot(rate.learning_rate or 0.0, pass_1(rate.policies), score(rate.policies)) for rate in others]
    return at_pass_1(knots, pass_1(own))


def at_pass_1(knots: Sequence[Knot], method_SN: Matrix) -> OnCurve | OutOfReach:
    """The score on the baseline's curve at the mean of `method_SN`, the pass@1 of a method.

    Knots are in the order of their rates. With t the square root of the rate, the fits are linear in the knots:
    x(t) = sum of l_i(t) x_i for pass@1, y(t) = sum of l_i(t) y_i for the score. With x0 the method's pass@1, t solves
    x(t) = x0; of two solutions it is that of the smaller rate. The entries are those of the linearisation of y(t)
    (delta method): sum of l_i(t) Y_i + slope (X0 - sum of l_i(t) X_i), slope = y'(t) / x'(t), so that the noise of all
    pass@1 and scores is in the interval.
    """
    if len(knots) < LEAST:
        return OutOfReach(f"the baseline has {len(knots)} other learning rates, and {LEAST} are needed")
    x0 = float(method_SN.mean())
    knots = _around(knots, x0)
    roots_K = np.sqrt([knot.rate for knot in knots])
    first, width = roots_K[0], roots_K[-1] - roots_K[0]
    fit_3K = np.linalg.pinv(np.vander((roots_K - first) / width, 3, increasing=True))
    x = Quadratic(*(fit_3K @ [knot.pass_1_SN.mean() for knot in knots]))
    y = Quadratic(*(fit_3K @ [knot.score_SN.mean() for knot in knots]))
    t = x.first_at(x0)
    if t is None:
        low, high = x.range()
        reach = f"{PERCENT * low:.1f} to {PERCENT * high:.1f} %"
        return OutOfReach(f"its pass@1 is {PERCENT * x0:.1f} %, and the baseline's {reach} over its learning rates")
    if abs(x.slope(t)) < STEEP * max(abs(x.slope(0.0)), abs(x.slope(1.0))):
        return OutOfReach(f"at its pass@1, {PERCENT * x0:.1f} %, the baseline's hardly changes with the learning rate")
    weights_K, slope = np.array([1.0, t, t**2]) @ fit_3K, y.slope(t) / x.slope(t)
    score_SN = sum(weight * knot.score_SN for weight, knot in zip(weights_K, knots, strict=True))
    pass_1_SN = sum(weight * knot.pass_1_SN for weight, knot in zip(weights_K, knots, strict=True))
    return OnCurve(score_SN + slope * (method_SN - pass_1_SN), float(first + width * t) ** 2)


def _around(knots: Sequence[Knot], x0: float) -> Sequence[Knot]:
    """At most NEAR neighbours around the first two with `x0` between their pass@1, else around the nearest."""
    gaps_K = np.array([knot.pass_1_SN.mean() - x0 for knot in knots])
    crossings = np.flatnonzero(gaps_K[1:] * gaps_K[:-1] <= 0)
    middle = int(crossings[0]) if len(crossings) else int(np.abs(gaps_K).argmin())
    start = max(0, min(middle - NEAR // 2 + 1, len(knots) - NEAR))
    return knots[start : start + NEAR]


@dataclass(frozen=True)
class Quadratic:
    """c + b t + a t^2 for t in [0, 1]."""

    c: float
    b: float
    a: float

    def slope(self, t: float) -> float:
        return self.b + 2 * self.a * t

    def range(self) -> tuple[float, float]:
        """Its lowest and highest value."""
        top = -self.b / (2 * self.a) if self.a else 0.0
        values = [self.c + self.b * t + self.a * t**2 for t in (0.0, 1.0, top) if 0 <= t <= 1]
        return min(values), max(values)

    def first_at(self, value: float) -> float | None:
        """The smallest t with this value; None if there is none."""
        c = self.c - value
        inner = self.b**2 - 4 * self.a * c
        if inner < 0:
            return None
        q = -(self.b + copysign(sqrt(inner), self.b)) / 2  # without cancellation (Press et al., Numerical Recipes, 5.6)
        found = [p / of for p, of in ((q, self.a), (c, q)) if of]
        return min((min(max(t, 0.0), 1.0) for t in found if -ROUNDED <= t <= 1 + ROUNDED), default=None)

"""Laws of pass@k over k, and distributions of solve rates (FADE, sec. 4.3 and 12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rlvr.config.measures import POSITIVE, SHARE, Range

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """pass@k = function(k, *parameters), with the parameters' names, bounds and starting points."""

    function: Callable[..., Vector]
    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    starts: tuple[tuple[float, ...], ...]


def shifted_power(k: Vector, a: float, b: float, c: float) -> Vector:
    return np.exp(-a * (k + c) ** -b)


def power(k: Vector, a: float, b: float) -> Vector:
    return np.exp(-a * k**-b)


def exponential(k: Vector, a: float, b: float) -> Vector:
    return 1 - a * np.exp(-b * k)


LAWS = {
    # FADE, sec. 12.2; the power law is that of Brown et al. (2024), c = 0; the exponential law that of an exponential
    # decay of what is unsolved. The paper writes neither of the two out.
    "shifted power law": Law(
        shifted_power,
        ("a", "b", "c"),
        (0, 0, -0.999),
        (1e6, 20, 1e4),
        ((1, 0.5, 0), (5, 1, 2), (0.5, 0.2, 0), (50, 2, 10)),
    ),
    "power law": Law(power, ("a", "b"), (0, 0), (1e6, 20), ((1, 0.5), (3, 1), (0.3, 0.2))),
    "exponential law": Law(exponential, ("a", "b"), (0, 0), (1, 50), ((0.7, 0.1), (0.9, 0.5), (0.3, 0.02))),
}


@dataclass(frozen=True)
class Fit:
    """A law's parameters of least squares over the k that were given, and their mean squared error."""

    law: str
    parameters: tuple[float, ...]
    mse: float

    def at(self, k: Vector) -> Vector:
        return LAWS[self.law].function(np.asarray(k, float), *self.parameters)


def fit(law: str, k: Vector, values: Vector) -> Fit:
    """The law through pass@k values in 0..1, by least squares from several starting points."""
    from scipy.optimize import least_squares

    of, k = LAWS[law], np.asarray(k, float)
    best = min(
        (
            least_squares(
                lambda parameters: of.function(k, *parameters) - values, start, bounds=(of.low, of.high), x_scale="jac"
            )
            for start in of.starts
        ),
        key=lambda found: found.cost,
    )
    return Fit(law, tuple(map(float, best.x)), float(2 * best.cost / len(k)))


# ---- distributions of solve rates ----------------------------------------------------------------


@dataclass(frozen=True)
class Mixture:
    """A mixture of Beta laws of solve rates: weights, and (a, b) of each; `mse` is of the shares of c = 0..n."""

    weights: tuple[float, ...]
    shapes: tuple[tuple[float, float], ...]
    mse: float

    def shares(self, n: int) -> Vector:
        """The share of problems with c = 0..n correct of n samples: a mixture of Beta-binomials."""
        from scipy.stats import betabinom

        parts = (weight * betabinom.pmf(np.arange(n + 1), n, a, b) for weight, (a, b) in self._parts())
        return np.sum(list(parts), axis=0)

    def pass_at_k(self, k: Vector) -> Vector:
        """E[1 - (1 - p)^k] = 1 - sum of w B(a, b + k) / B(a, b)."""
        from scipy.special import betaln

        k = np.asarray(k, float)
        return 1 - np.sum([w * np.exp(betaln(a, b + k) - betaln(a, b)) for w, (a, b) in self._parts()], axis=0)

    @property
    def parameters(self) -> tuple[float, ...]:
        """(a, b), or (w, a1, b1, a2, b2) with w the weight of the first; the component of harder problems is first."""
        parts = sorted(self._parts(), key=lambda part: part[1][0] / sum(part[1]))
        shapes = [number for _, shape in parts for number in shape]
        return tuple(shapes if len(parts) == 1 else [parts[0][0], *shapes])

    @classmethod
    def of(cls, parameters: Sequence[float]) -> Self:
        """The mixture with these `parameters`."""
        if len(parameters) == 2:
            return cls((1.0,), (tuple(parameters),), float("nan"))  # type: ignore[arg-type]
        w, a1, b1, a2, b2 = parameters
        return cls((w, 1 - w), ((a1, b1), (a2, b2)), float("nan"))

    def _parts(self) -> list[tuple[float, tuple[float, float]]]:
        return list(zip(self.weights, self.shapes, strict=True))


def fit_mixture(counts: NDArray[np.int64], components: int) -> Mixture:
    """One Beta law (`components` = 1) or two, whose Beta-binomial shares are nearest in mean squared error.

    The paper minimises this error too (Figure 10). Two components start apart, near p = 0 and p = 1.
    """
    from scipy.optimize import least_squares

    n, shares = len(counts) - 1, counts / counts.sum()

    def mixture(parameters: Vector) -> Mixture:
        shapes = np.exp(parameters[: 2 * components]).reshape(components, 2)
        first = 1 / (1 + np.exp(-parameters[-1])) if components == 2 else 1.0
        weights = (first, 1 - first) if components == 2 else (1.0,)
        return Mixture(tuple(map(float, weights)), tuple((float(a), float(b)) for a, b in shapes), 0.0)

    starts = [[0.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]] if components == 1 else []
    starts += (
        [[-1.0, 1.5, 1.5, -1.0, 0.0], [-1.0, 1.0, 0.5, 0.5, 0.5], [0.0, 2.0, 2.0, 0.0, 1.0]] if components == 2 else []
    )
    limits = [8.0] * (2 * components) + [10.0] * (components == 2)
    found = min(
        (
            least_squares(lambda p: mixture(p).shares(n) - shares, start, bounds=([-v for v in limits], limits))
            for start in starts
        ),
        key=lambda result: result.cost,
    )
    made = mixture(found.x)
    return Mixture(made.weights, made.shapes, float(2 * found.cost / (n + 1)))


# ---- both, as curves of pass@k ----------------------------------------------------------------------

MIXTURES = {"Beta-binomial": ("a", "b"), "two Beta-binomials": ("w", "a1", "b1", "a2", "b2")}


def names(law: str) -> tuple[str, ...]:
    """The parameters of a law of pass@k, or of a distribution of solve rates."""
    return LAWS[law].names if law in LAWS else MIXTURES[law]


def possible(law: str) -> tuple[Range, ...]:
    """The possible values of each parameter: those of a fit; shapes of Beta are positive, and a weight is a share."""
    if law in LAWS:
        return tuple(zip(LAWS[law].low, LAWS[law].high, strict=True))
    return tuple(SHARE if name == "w" else POSITIVE for name in MIXTURES[law])


def pass_at_k_of(law: str, k: Vector, parameters: Sequence[float]) -> Vector:
    """pass@k by a law or a distribution of solve rates with these parameters."""
    return LAWS[law].function(k, *parameters) if law in LAWS else Mixture.of(parameters).pass_at_k(k)


def fit_solve_rates(law: str, counts: NDArray[np.int64], samples: int) -> tuple[float, ...]:
    """The parameters of a distribution of solve rates that has seen some of the n samples of each problem.

    Of c correct among n, the share of draws of `samples` with j correct is hypergeometric.
    """
    from scipy.stats import hypergeom

    n = len(counts) - 1
    of_c = np.array([hypergeom.pmf(np.arange(samples + 1), n, c, samples) for c in range(n + 1)])
    return fit_mixture(counts @ of_c, 1 if law == "Beta-binomial" else 2).parameters

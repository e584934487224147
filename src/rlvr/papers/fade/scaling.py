"""Laws of pass@k over k, and distributions of solve rates (FADE, sec. 4.3 and 12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlvr.config.measures import POSITIVE, SHARE, Range

Vector = NDArray[np.float64]


def shifted_power(k: Vector, a: float, b: float, c: float) -> Vector:
    return np.exp(-a * (k + c) ** -b)


def power(k: Vector, a: float, b: float) -> Vector:
    return np.exp(-a * k**-b)


def exponential(k: Vector, a: float, b: float) -> Vector:
    return 1 - a * np.exp(-b * k)


def mixture(k: Vector, *parameters: float) -> Vector:
    """pass@k of a mixture of Beta laws: E[1 - (1 - p)^k] = 1 - sum of w B(a, b + k) / B(a, b)."""
    from scipy.special import betaln

    k = np.asarray(k, float)
    return 1 - np.sum([w * np.exp(betaln(a, b + k) - betaln(a, b)) for w, a, b in _parts(parameters)], axis=0)


def shares(parameters: Sequence[float], n: int) -> Vector:
    """The share of problems with c = 0..n correct of n samples: a mixture of Beta-binomials.

    A Beta-binomial is C(n, c) B(c + a, n - c + b) / B(a, b), as scipy.stats.betabinom, without its checks.
    """
    from scipy.special import betaln

    c, chosen = np.arange(n + 1), _log_binomials(n)
    logs = ((w, chosen + betaln(c + a, n - c + b) - betaln(a, b)) for w, a, b in _parts(parameters))
    return np.sum([w * np.exp(log) for w, log in logs], axis=0)


@cache
def _log_binomials(n: int) -> Vector:
    """log C(n, c) for c = 0..n."""
    from scipy.special import betaln

    c = np.arange(n + 1)
    return -np.log(n + 1) - betaln(n - c + 1, c + 1)


def _parts(parameters: Sequence[float]) -> list[tuple[float, float, float]]:
    """(weight, a, b) of each Beta law: of the parameters (a, b), or (w, a1, b1, a2, b2) with w the first's weight."""
    if len(parameters) == 2:
        return [(1.0, parameters[0], parameters[1])]
    w, a1, b1, a2, b2 = parameters
    return [(w, a1, b1), (1 - w, a2, b2)]


@dataclass(frozen=True)
class Law:
    """pass@k = function(k, *parameters), with the parameters' names, their ranges, and starting points of a fit."""

    function: Callable[..., Vector]
    names: tuple[str, ...]
    possible: tuple[Range, ...]
    starts: tuple[tuple[float, ...], ...]


# A mixture is fitted to solve rates, from the logarithms of its shapes and the logit of its weight. Two components
# start apart, near p = 0 and p = 1.
MIXTURES = {
    "Beta-binomial": Law(mixture, ("a", "b"), (POSITIVE,) * 2, ((0, 0), (-1, 1), (-1, -1))),
    "two Beta-binomials": Law(
        mixture,
        ("w", "a1", "b1", "a2", "b2"),
        (SHARE, *(POSITIVE,) * 4),
        ((-1, 1.5, 1.5, -1, 0), (-1, 1, 0.5, 0.5, 0.5), (0, 2, 2, 0, 1)),
    ),
}
LAWS = {
    # FADE, sec. 12.2; the power law is that of Brown et al. (2024), c = 0; the exponential law that of an exponential
    # decay of what is unsolved. The paper writes neither of the two out.
    "shifted power law": Law(
        shifted_power,
        ("a", "b", "c"),
        ((0, 1e6), (0, 20), (-0.999, 1e4)),
        ((1, 0.5, 0), (5, 1, 2), (0.5, 0.2, 0), (50, 2, 10)),
    ),
    "power law": Law(power, ("a", "b"), ((0, 1e6), (0, 20)), ((1, 0.5), (3, 1), (0.3, 0.2))),
    "exponential law": Law(exponential, ("a", "b"), ((0, 1), (0, 50)), ((0.7, 0.1), (0.9, 0.5), (0.3, 0.02))),
    **MIXTURES,
}


@dataclass(frozen=True)
class Fit:
    """A law's parameters of least squares, and their mean squared error: of pass@k, or of the shares of solve rates."""

    parameters: tuple[float, ...]
    mse: float


def fit(law: str, k: Vector, values: Vector) -> Fit:
    """The law through pass@k values in 0..1, by least squares from several starting points."""
    of, k = LAWS[law], np.asarray(k, float)
    low, high = zip(*of.possible, strict=True)
    found = _least(lambda parameters: of.function(k, *parameters) - values, of.starts, (low, high), x_scale="jac")
    return Fit(tuple(map(float, found.x)), float(2 * found.cost / len(k)))


def fit_mixture(counts: NDArray[np.int64], law: str) -> Fit:
    """One Beta law or two, whose Beta-binomial shares are nearest in mean squared error, which the paper minimises too
    (Figure 10). The component of harder problems is the first.
    """
    n, observed, of = len(counts) - 1, counts / counts.sum(), LAWS[law]

    def parameters(x: Vector) -> list[float]:
        shapes = np.exp(x[:4])
        return [*(1 / (1 + np.exp(-x[4:]))), *shapes]

    high = np.array([8.0, 8.0, 8.0, 8.0, 10.0][: len(of.names)])
    found = _least(lambda x: shares(parameters(x), n) - observed, of.starts, (-high, high))
    parts = sorted(_parts(parameters(found.x)), key=lambda part: part[1] / (part[1] + part[2]))
    weights = [parts[0][0]] if len(parts) == 2 else []
    sorted_parameters = [*weights, *(number for _, a, b in parts for number in (a, b))]
    return Fit(tuple(map(float, sorted_parameters)), float(2 * found.cost / (n + 1)))


def fit_solve_rates(law: str, counts: NDArray[np.int64], samples: int) -> tuple[float, ...]:
    """The parameters of a distribution of solve rates that has seen some of the n samples of each problem.

    Of c correct among n, the share of draws of `samples` with j correct is hypergeometric.
    """
    from scipy.stats import hypergeom

    n = len(counts) - 1
    of_c = np.array([hypergeom.pmf(np.arange(samples + 1), n, c, samples) for c in range(n + 1)])
    return fit_mixture(counts @ of_c, law).parameters


def _least(difference: Callable[[Vector], Vector], starts: Sequence[Sequence[float]], bounds: Any, **more: Any) -> Any:
    """The least squares from the best of several starting points."""
    from scipy.optimize import least_squares

    fits = (least_squares(difference, start, bounds=bounds, **more) for start in starts)
    return min(fits, key=lambda found: found.cost)

"""The variance of an estimated weight, and which weights it favours (FADE, sec. 4.3 and 14)."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import optimize, stats
from torch.func import grad

from rlvr.theory._tensors import gap, generator
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

section = Chapter("FADE")


def _weight_peak(alpha: float) -> float:
    """C of Eq. 27."""
    return (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)


def _weight(p, alpha: float):
    return _weight_peak(alpha) * p * (1 - p) ** alpha


def exact_variance(p: float, alpha: float, rollouts: int) -> float:
    """Var(w(k / G)) over k ~ Binomial(G, p)."""
    k = np.arange(rollouts + 1)
    chance, value = stats.binom.pmf(k, rollouts, p), _weight(k / rollouts, alpha)
    return float(chance @ value**2 - (chance @ value) ** 2)


def delta_variance(p: float, alpha: float, rollouts: int) -> float:
    """Eq. 30."""
    return _weight_peak(alpha) ** 2 * p * (1 - p) ** (2 * alpha - 1) * (1 - (1 + alpha) * p) ** 2 / rollouts


def _argmax(value: Callable[[float], float]) -> float:
    """Where a function on (0, 1) with one peak is largest."""
    peak: Any = optimize.minimize_scalar(lambda p: -value(p), bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return float(peak.x)


@section.says("Sec. 14, Eq. 27", "scipy, six values of a")
def peak() -> Finding:
    """C = (1 + a)^(1 + a) / (4 a^a) makes the peak of C p q^a equal to 1/4."""
    alphas = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
    largest = [_weight(_argmax(lambda p, a=alpha: _weight(p, a)), alpha) for alpha in alphas]
    return holds(max(abs(value - 0.25) for value in largest), 1e-12)


@section.says("Sec. 14, Eq. 29 and 31", "autograd")
def derivative() -> Finding:
    """w' = C q^(a-1) (1 - (1 + a) p); the relative variance is its square over G p q w^2."""
    p, worst = torch.linspace(0.05, 0.95, 19, dtype=torch.float64), 0.0
    q = 1 - p
    for alpha in (1.0, 2.0, 3.0):
        slope = grad(lambda p, a=alpha: _weight(p, a).sum())(p)
        stated = _weight_peak(alpha) * q ** (alpha - 1) * (1 - (1 + alpha) * p)
        relative = (1 - (1 + alpha) * p) ** 2 / (8 * p * q)
        worst = max(worst, gap(slope, stated), gap(slope**2 * p * q / 8 / _weight(p, alpha) ** 2, relative))
    return holds(worst, 1e-10)


@section.says(
    "Sec. 14, Eq. 28 and 30",
    "exact binomial variance, G = 64 and 16, alpha = 2, 3, 0.1 <= p <= 0.8, at least 0.1 from the mode",
)
def delta_method() -> Finding:
    """The variance of the estimated weight is that of the delta method."""

    def worst(rollouts: int) -> float:
        ratios = []
        for alpha, p in itertools.product((2.0, 3.0), np.arange(0.10, 0.801, 0.01)):
            if abs(p - 1 / (1 + alpha)) >= 0.1:
                ratios.append(abs(delta_variance(p, alpha, rollouts) / exact_variance(p, alpha, rollouts) - 1))
        return max(ratios)

    wide, narrow = worst(64), worst(16)
    detail = (
        f"`G reasonably large`: within {100 * wide:.0f} % at G = 64; at G = 16, as in Figure 7, up to "
        f"{100 * narrow:.0f} % off"
    )
    return holds(wide, 0.165, detail)


@section.says("Sec. 14, after Eq. 31", "exact binomial variance at the mode, alpha = 3, G = 16")
def mode_variance() -> Finding:
    """The variance vanishes at the weight's mode, p = 1 / (1 + alpha)."""
    exact = exact_variance(0.25, 3.0, 16)
    detail = f"to first order in 1/G, as Eq. 30; the variance is {exact:.1e}, of second order"
    return conditional(delta_variance(0.25, 3.0, 16), exact, detail)


@section.says(
    "Sec. 4.3",
    "ratio (sum of w s)^2 / sum of w^2 v (the paper names no criterion): Cauchy-Schwarz, and 2,000 random weights",
)
def inverse_noise() -> Finding:
    """With equal signal everywhere, weights in inverse proportion to the noise, w ~ p (1 - p), are best."""
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)
    noise = 1 / (p * (1 - p))

    def ratio(w: torch.Tensor) -> torch.Tensor:
        return w.sum(-1) ** 2 / (w**2 * noise).sum(-1)

    bound = (1 / noise).sum()  # (sum w)^2 <= sum w^2 v  sum 1/v, with equality at w = 1/v
    others = ratio(torch.rand(2000, 50, generator=generator(5), dtype=torch.float64))
    return holds(max(0.0, float(others.max() - bound)) + abs(float(ratio(1 / noise) - bound)), 1e-9)


@section.says(
    "Sec. 4.3, Eq. 10",
    "Q of w = p (1 - p), of a tenth of it, and of w = 1/4 up to p = 0.6 with 1e-2 and 1e-3 above; 50 difficulties, "
    "s = 1, Eq. 9",
)
def update_quality() -> Finding:
    """There is a weight function that maximises the update quality Q(w) = N_eff E[s / Var(w g)]."""
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)
    q = p * (1 - p)

    def quality(w: torch.Tensor, slope: torch.Tensor) -> float:
        variance = (w**2 / q + slope**2 * q) / 16
        return float(w.mean() ** 2 / (w**2).mean() * (1 / variance).mean())

    def stepped(low: float) -> float:
        """Peak 1/4 below 0.6, `low` above; its slope is 0 at every difficulty of the grid."""
        return quality(torch.where(p < 0.6, 0.25, low), torch.zeros_like(p))

    rescaled = quality(q / 10, (1 - 2 * p) / 10) / quality(q, 1 - 2 * p)
    fixed = stepped(1e-3) / stepped(1e-2)
    return fails(
        min(rescaled, fixed) - 1,
        f"Q has no maximum. N_eff does not change with the scale of w and Var(w g) does: a tenth of a weight has "
        f"{rescaled:.0f} times its quality. With the peak fixed at 1/4 (Eq. 27) too, a weight that falls from 1e-2 to "
        f"1e-3 on easy prompts gains a factor of {fixed:.0f}, without bound: 1 / Var(w g) rewards prompts with hardly "
        "any weight",
        "with the signal scaled too, (w s)^2 / Var(w g)",
    )


@section.says(
    "Sec. 14 and 4.3, Table 8",
    "ratio (sum of w s)^2 / sum of w^2 v over uniform p, v = 1 / (p (1 - p)): its bound by Cauchy-Schwarz for "
    "s = (2 (1 - p))^2, and s = (1 - p)^0.8, whose s(1/4) / s(1/2) is below 2.25",
)
def enrichment() -> Finding:
    """alpha = 3 is justified at mean solve rate 1/2 only if harder prompts carry (2 (1 - p))^2 times the signal: 2.25
    at p = 1/4."""
    p = torch.linspace(0.005, 0.995, 199, dtype=torch.float64)
    noise = 1 / (p * (1 - p))

    def ratio(signal: torch.Tensor, alpha: float) -> float:
        w = _weight(p, alpha)
        return float((w * signal).sum() ** 2 / (w**2 * noise).sum())

    def best(signal: torch.Tensor) -> float:
        return float((signal**2 / noise).sum())  # at w = s / v

    stated, less = (2 * (1 - p)) ** 2, (1 - p) ** 0.8
    short = 1 - ratio(stated, 3.0) / best(stated) + 1 - ratio(torch.ones_like(p), 1.0) / best(torch.ones_like(p))
    gain, enriched = ratio(less, 3.0) / ratio(less, 1.0), 1.5**0.8
    return conditional(
        short,
        gain - 1,
        "`justified` means that alpha = 3 is the best weight by this ratio, as alpha = 1 is for equal signals. The "
        "paper names no criterion and derives no threshold. To have a larger ratio than alpha = 1, as Table 8's "
        f"caption says, less is enough: with s(1/4) / s(1/2) = {enriched:.2f} it has {gain:.3f} times alpha = 1's",
    )


@section.says("Sec. 14.1", "argmax of e^(-2 c p) p (1 - p), scipy")
def sweet_spot() -> Finding:
    """For a signal e^(-c p), c from 0.5 to 1 moves the best difficulty into [0.3, 0.5]."""

    def best(c: float) -> float:
        return _argmax(lambda p: math.exp(-2 * c * p) * p * (1 - p))

    assert abs(best(0.5) - (3 - math.sqrt(5)) / 2) < 1e-6
    return holds(
        max(0.0, 0.3 - best(1.0)), 0.05, f"to the digit printed: {best(0.5):.3f} at c = 0.5, {best(1.0):.3f} at c = 1"
    )

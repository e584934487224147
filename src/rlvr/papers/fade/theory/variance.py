"""The variance of an estimated weight, and which weights it favours (FADE, sec. 4.3 and 14)."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import integrate, optimize, stats
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


def delta_error(rollouts: int) -> float:
    """The largest relative error of Eq. 30, for alpha = 2, 3 and 0.1 <= p <= 0.8 at least 0.1 from the mode."""
    errors = []
    for alpha, p in itertools.product((2.0, 3.0), np.arange(0.10, 0.801, 0.01)):
        if abs(p - 1 / (1 + alpha)) >= 0.1:
            errors.append(abs(delta_variance(p, alpha, rollouts) / exact_variance(p, alpha, rollouts) - 1))
    return max(errors)


@section.says(
    "Sec. 14, Eq. 28 and 30",
    "exact binomial variance, G = 16, 64 and 16,384, alpha = 2, 3, 0.1 <= p <= 0.8, at least 0.1 from the mode",
)
def delta_method() -> Finding:
    """The variance of the estimated weight is that of the delta method, for G reasonably large."""
    narrow, wide, limit = (delta_error(rollouts) for rollouts in (16, 64, 16_384))
    return conditional(
        limit,
        narrow,
        f"G is far above the paper's, and p off the mode: the error, of order 1/G, is up to {100 * narrow:.0f} % at "
        f"G = 16, as in Figure 7, {100 * wide:.0f} % at G = 64 and {100 * limit:.2f} % at G = 16,384",
        1e-3,
    )


@section.says("Sec. 14, after Eq. 31", "exact binomial variance at the mode, alpha = 3, G = 16")
def mode_variance() -> Finding:
    """The variance vanishes at the weight's mode, p = 1 / (1 + alpha)."""
    exact = exact_variance(0.25, 3.0, 16)
    detail = f"to first order in 1/G, as Eq. 30; the variance is {exact:.1e}, of second order"
    return conditional(delta_variance(0.25, 3.0, 16), exact, detail)


def _signal(c: float) -> Callable[[float], float]:
    """s = e^(-c p) of sec. 14.1."""
    return lambda p: math.exp(-c * p)


def best_alpha(c: float, rollouts: float = math.inf) -> float:
    """The alpha that maximises (sum of w s)^2 / sum of w^2 v over uniform p, for s = e^(-c p), by quadrature.

    v = 1 / (G p q), to which the weight-estimation correction of sec. 14 adds Var(w) / w^2 (s^2 + v), Eq. 31;
    G = inf stands for known weights.
    """
    s = _signal(c)

    def noise(p: float, alpha: float) -> float:
        """w^2 v, and the correction."""
        w, q = p * (1 - p) ** alpha, 1 - p
        if math.isinf(rollouts):
            return w**2 / (p * q)
        v = 1 / (rollouts * p * q)
        return w**2 * (v + (1 - (1 + alpha) * p) ** 2 * v * (s(p) ** 2 + v))

    def ratio(alpha: float) -> float:
        signal = integrate.quad(lambda p: p * (1 - p) ** alpha * s(p), 0, 1)[0]
        return signal**2 / integrate.quad(noise, 0, 1, args=(alpha,))[0]

    best: Any = optimize.minimize_scalar(lambda alpha: -ratio(alpha), bounds=(0.55, 4), method="bounded")
    return float(best.x)


@section.says(
    "Sec. 4.3",
    "ratio (sum of w s)^2 / sum of w^2 v: Cauchy-Schwarz, and 2,000 random weights; the best alpha with the "
    "weight-estimation correction",
)
def inverse_noise() -> Finding:
    """With equal signal everywhere, weights in inverse proportion to the noise, w ~ p (1 - p), are best."""
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)
    noise = 1 / (p * (1 - p))

    def ratio(w: torch.Tensor) -> torch.Tensor:
        return w.sum(-1) ** 2 / (w**2 * noise).sum(-1)

    bound = (1 / noise).sum()  # (sum w)^2 <= sum w^2 v  sum 1/v, with equality at w = 1/v
    others = ratio(torch.rand(2000, 50, generator=generator(5), dtype=torch.float64))
    estimated = best_alpha(0.0, 16)
    return conditional(
        max(0.0, float(others.max() - bound)) + abs(float(ratio(1 / noise) - bound)),
        1 - estimated,
        "`best` means the largest signal-to-noise ratio of the sum, whose best alphas are those of sec. 14.1 "
        "(`known_weights`), and the weight is known: Eq. 10 itself has no maximum (`update_quality`), and with the "
        f"estimation noise of Eq. 9 and 31 the best alpha is {estimated:.2f} at G = 16",
    )


@section.says(
    "Sec. 4.3, before and in Eq. 10", "both at w = p (1 - p), G = 16: s = 1 at p = 0.3 and 0.5, and s = 2 at p = 0.3"
)
def learning_quality() -> Finding:
    """The quality of one prompt, q(p, w) = s^2 / Var(w(p_hat)) in the text, is the s / Var(w(p_hat) g) of Eq. 10."""

    def text(p: float, s: float) -> float:
        return s**2 / delta_variance(p, 1.0, 16)

    def equation(p: float, s: float) -> float:
        """By Eq. 9."""
        return s / (_weight(p, 1.0) ** 2 / (16 * p * (1 - p)) + s**2 * delta_variance(p, 1.0, 16))

    assert delta_variance(0.5, 1.0, 16) == 0
    first, second = text(0.3, 1.0) / equation(0.3, 1.0), text(0.3, 2.0) / equation(0.3, 2.0)
    return fails(
        first - 1,
        f"at p = 0.3 the text's is {first:.1f} times Eq. 10's for s = 1 and {second:.1f} times for s = 2. At the "
        f"weight's mode, p = 1/2, the text's is infinite, by Eq. 30, and Eq. 10's is {equation(0.5, 1.0):.0f}. Neither "
        "has the weight in its signal, so both grow without bound as the weight shrinks",
        "for the signal-to-noise ratio of the weighted gradient, as the text calls it, (w s)^2 / Var(w g)",
    )


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
        "paper prints no such ratio, but the best alphas of sec. 14.1 are this one's (`known_weights`). To have a "
        "larger ratio than alpha = 1, as Table 8's caption says, less is enough: with s(1/4) / s(1/2) = "
        f"{enriched:.2f} it has {gain:.3f} times alpha = 1's",
    )


@section.says("Sec. 14.1", "argmax of e^(-2 c p) p (1 - p), scipy")
def sweet_spot() -> Finding:
    """For a signal e^(-c p), c from 0.5 to 1 moves the best difficulty into [0.3, 0.5]."""

    def best(c: float) -> float:
        return _argmax(lambda p: _signal(c)(p) ** 2 * p * (1 - p))

    assert abs(best(0.5) - (3 - math.sqrt(5)) / 2) < 1e-6
    last = (1 / 0.3 - 1 / 0.7) / 2  # 2 c = 1/p - 1/(1 - p) at the peak
    return holds(
        max(0.0, 0.3 - best(1.0)),
        0.01,
        f"to the digit printed: {best(0.5):.3f} at c = 0.5, {best(1.0):.3f} at c = 1; 0.3 is reached at c = {last:.2f}",
    )


@section.says(
    "Sec. 14.1",
    "argmax over alpha of (sum of w s)^2 / sum of w^2 v for uniform p, s = e^(-c p), v = 1 / (G p q), by quadrature",
)
def known_weights() -> Finding:
    """With known weights, c from 0.5 to 1 gives a best alpha of about 1.2 to 1.45."""
    low, high = best_alpha(0.5), best_alpha(1.0)
    return holds(
        max(abs(low - 1.2), abs(high - 1.45)),
        0.01,
        f"{low:.3f} at c = 0.5, {high:.3f} at c = 1, to the digits printed; the paper does not print the ratio",
    )


@section.says("Sec. 14.1", "the same with the correction Var(w) / w^2 (s^2 + v) to v, G = 8 and 16")
def estimated_weights() -> Finding:
    """With the weight-estimation correction, G = 8 to 16, the best alpha falls to about 1.05 to 1.25."""
    found = {(c, rollouts): best_alpha(c, rollouts) for c in (0.5, 1.0) for rollouts in (8, 16)}
    low, high = min(found.values()), max(found.values())
    return holds(
        max(abs(low - 1.05), abs(high - 1.25)),
        0.0125,
        f"to the digits printed: {found[0.5, 8]:.3f} and {found[0.5, 16]:.3f} at c = 0.5, {found[1.0, 8]:.3f} and "
        f"{found[1.0, 16]:.3f} at c = 1 (G = 8 and 16), with v = 1 / (G p q); a flat signal then has "
        f"{best_alpha(0.0, 8):.2f} and {best_alpha(0.0, 16):.2f}, below mean GRPO's 1",
    )


@section.says("Sec. 14, its last line", "the best alpha for c = 1 at G = 16 and 10^6 against the one for known weights")
def estimation_effect() -> Finding:
    """The downward force of weight estimation on the best alpha scales as O(1/G)."""
    known, few, many = best_alpha(1.0), best_alpha(1.0, 16), best_alpha(1.0, 1e6)
    return fails(
        known - many,
        f"for c = 1 the best alpha is {few:.3f} at G = 16, {many:.3f} at G = 10^6 and {known:.3f} for known weights. "
        "The penalty Var(w) / w^2 (s^2 + v) falls as 1/G, and so does v = 1 / (G p q): their ratio tends to "
        "(1 - (1 + alpha) p)^2 s^2",
        "for the penalty itself; for the best alpha, where the noise v does not fall with G",
    )

"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special
from support.ledger import verdicts

from rlvr.papers.fade.theory import rank, variance

CONDITIONAL = """
accumulation chen constant_weights_groups constant_weights_stale constant_weights_tokens delta_and_rank delta_method
enrichment fade_masses failure_modes inverse_noise median mix mode_variance projection resampling softmax_masses
"""
FAILS = """
advantage_ratio decorrelated_failures entropy_change estimation_effect ha_dw learning_quality log_mean_exp
log_mean_exp_limits mean_advantage moving_average quantile_rule softmax_limits uncorrelated_residuals update_quality
"""


def test_the_verdicts_are_these():
    found = verdicts("fade")
    assert (found["holds under a condition"], found["fails"]) == (set(CONDITIONAL.split()), set(FAILS.split()))
    assert len(found["holds"]) >= 3


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0])
def test_the_best_alpha_of_known_weights_is_that_of_the_closed_form(c):
    """Integral of p q^a e^(-cp): B(2, a + 1) 1F1(2; a + 3; -c); of p q^(2a - 1): B(2, 2a)."""

    def log_ratio(alpha: float) -> float:
        signal = special.beta(2, alpha + 1) * special.hyp1f1(2, alpha + 3, -c)
        return 2 * math.log(signal) - math.log(special.beta(2, 2 * alpha))

    best: Any = optimize.minimize_scalar(lambda alpha: -log_ratio(alpha), bounds=(0.55, 4), method="bounded")
    assert variance.best_alpha(c) == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize(("c", "rollouts", "known"), [(0.5, 8, 1.060), (1.0, 16, 1.254)])
def test_the_best_alpha_of_estimated_weights_is_that_of_a_sum_over_a_grid(c, rollouts, known):
    """Noise: w^2 v + w'^2 (p q / G) (s^2 + v), with v = 1 / (G p q)."""
    p = (np.arange(100_000) + 0.5) / 100_000
    alphas = np.arange(known - 0.1, known + 0.1, 0.002)
    s, v = np.exp(-c * p), 1 / (rollouts * p * (1 - p))
    ratios = []
    for alpha in alphas:
        w, slope = p * (1 - p) ** alpha, (1 - p) ** (alpha - 1) * (1 - (1 + alpha) * p)
        ratios.append((w * s).sum() ** 2 / (w**2 * v + slope**2 * p * (1 - p) / rollouts * (s**2 + v)).sum())
    assert alphas[int(np.argmax(ratios))] == pytest.approx(known, abs=3e-3)
    assert variance.best_alpha(c, rollouts) == pytest.approx(known, abs=1e-3)


def test_the_ratio_of_residual_norms_is_that_by_hand():
    """E |mean of N|^2 is systematic^2 + 1 / N: in units of 1 / sqrt(N_S), f^2 + N_S / N_F over s^2 + 1."""
    few = 8_968 / 54_700
    for s, f in ((0, 0), (2, 0), (0, 2), (2, 1.5)):
        assert rank.residual_ratio(s, f) == pytest.approx(math.sqrt((f**2 + few) / (s**2 + 1)), rel=1e-9)
    assert rank.residual_ratio(0, 0) == pytest.approx(0.4049, abs=1e-4)
    assert rank.residual_ratio(2, 0) < rank.residual_ratio(1, 0) < rank.residual_ratio(0, 0)


def test_the_error_of_the_delta_method_is_that_of_a_sum_over_binomials():
    def exact(p: float, alpha: float, rollouts: int) -> float:
        chance = [math.comb(rollouts, k) * p**k * (1 - p) ** (rollouts - k) for k in range(rollouts + 1)]
        value = [k / rollouts * (1 - k / rollouts) ** alpha for k in range(rollouts + 1)]
        mean = sum(c * v for c, v in zip(chance, value, strict=True))
        return sum(c * (v - mean) ** 2 for c, v in zip(chance, value, strict=True))

    def stated(p: float, alpha: float, rollouts: int) -> float:
        return p * (1 - p) ** (2 * alpha - 1) * (1 - (1 + alpha) * p) ** 2 / rollouts

    def worst(rollouts: int) -> float:
        points = [(i / 100, alpha) for i in range(10, 81) for alpha in (2, 3) if abs(i / 100 - 1 / (1 + alpha)) >= 0.1]
        return max(abs(stated(p, alpha, rollouts) / exact(p, alpha, rollouts) - 1) for p, alpha in points)

    assert variance.delta_error(16) == pytest.approx(worst(16), rel=1e-6) == pytest.approx(0.485, abs=1e-3)
    assert variance.delta_error(64) == pytest.approx(worst(64), rel=1e-6) == pytest.approx(0.157, abs=1e-3)


def test_the_two_qualities_of_a_prompt_are_those_by_hand():
    """At p = 0.3, w = pq, G = 16: Var(w) = 0.16 pq / 16 = 0.0021, Var(w g) = pq / 16 + s^2 Var(w) = 0.015225."""
    assert variance.learning_quality().deviation == pytest.approx((1 / 0.0021) / (1 / 0.015225) - 1, rel=1e-9)
    four, two = 4 / 0.0021, 2 / (0.013125 + 4 * 0.0021)
    assert f"{four / two:.1f} times for s = 2" in variance.learning_quality().detail

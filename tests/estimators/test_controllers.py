"""States from step to step."""

import math

import numpy as np
import pytest
import torch
from support.members import weigh

from rlvr.estimators import Estimator


def fade(steps, **settings):
    """States of FADE over (mean reward, entropy) of each step."""
    estimator, state, states = Estimator("fade", settings), {}, []
    for mean, entropy in steps:
        rewards = (torch.arange(10) < round(10 * mean)).double()[None]
        _, state = estimator.step(rewards, {"entropy": entropy}, state)
        states.append(state)
    return states


def test_fade_controller_by_hand():
    """Algorithm 2: both averages start at 1/2 and at the initial entropy."""
    first, second = fade([(0.3, 1.0), (0.8, 0.2)])
    p = 0.02 * 0.5 + 0.98 * 0.3
    assert first["target"] == second["target"] == 0.5  # H* is half of 1.0 nats
    assert math.isclose(first["p_hat"], p) and math.isclose(first["h_hat"], 1.0)
    assert math.isclose(first["alpha"], 3.0) and first["delta"] == 1.0  # 3 (1 - p) / 2p = 3.4, cut at 3
    p, h = 0.02 * p + 0.98 * 0.8, 0.02 * 1.0 + 0.98 * 0.2
    assert math.isclose(second["p_hat"], p) and math.isclose(second["h_hat"], h)
    assert second["alpha"] == 1.0 and math.isclose(second["delta"], 1 + h - 0.5)  # H* is half of 1.0 nats
    assert math.isclose(fade([(0.5, 1.0)], rate=0.0)[0]["alpha"], 1.5)


def test_fade_smooth_average_has_a_half_life_of_34_steps():
    states = fade([(1.0, 1.0)] * 34, ema="smooth")
    assert math.isclose(states[-1]["p_hat"], 1 - 0.5 * 0.98**34) and abs(0.98**34 - 0.5) < 0.01


def test_fade_targets_and_ablations():
    steps = [(0.5, 0.8), (0.5, 0.3), (0.5, 0.3)]
    assert math.isclose(fade(steps, target_entropy=0.6)[-1]["delta"], 1 + fade(steps)[-1]["h_hat"] - 0.6)
    assert fade(steps, target_entropy=5.0)[-1]["delta"] == 0.3
    assert fade(steps, control="alpha")[-1]["delta"] == 1.0 and fade(steps, control="delta")[-1]["alpha"] == 1.0
    scheduled = fade(steps, control="schedule", total_steps=2.0)
    assert (scheduled[0]["alpha"], scheduled[0]["delta"]) == (2.0, 1.0)
    assert math.isclose(scheduled[2]["alpha"], 1.917) and math.isclose(scheduled[2]["delta"], 0.802)
    for estimator, steps_of_it in (({"name": "fade", "control": "schedule"}, 7.0), ({"name": "grpo"}, None)):
        assert Estimator.of_run(estimator, 7).settings.get("total_steps") == steps_of_it
    by_entropy = fade(steps, control="entropy")
    assert by_entropy[0]["alpha"] == 3.0 and by_entropy[-1]["alpha"] == 1.0
    with pytest.raises(ValueError, match="entropy"):
        fade([(0.5, float("nan"))])
    for wrong in ({"delta_min": 0.0}, {"alpha_max": -3.0}, {"rate": 5.0}, {"control": "schedule"}):
        with pytest.raises(ValueError, match="needs"):
            fade(steps, **wrong)


def test_fade_with_entropy_as_a_share_acts_alike_whatever_the_initial_entropy():
    """Entropy falls to 70 %, H* is 85 %: delta is 0.85, where nats of a tenth leave it above 0.98."""
    for scale in (0.1, 1.0, 3.0):
        states = fade([(0.5, scale), (0.5, 0.7 * scale)], rate=0.0, unit="share", target_share=0.85)
        assert (states[0]["delta"], states[1]["delta"]) == (1.0, pytest.approx(0.85))
    in_nats = fade([(0.5, 0.1), (0.5, 0.07)], rate=0.0, target_share=0.85)[-1]["delta"]
    assert in_nats == pytest.approx(1 - 0.015)
    assert fade([(0.5, 0.0)] * 2, unit="share")[-1]["delta"] == 1.0, "no entropy from the start: nothing to keep"


def test_fade_baselines_differ():
    """p = 0.2 in a batch of mean 0.5, alpha = 2: per-prompt masses 0.128 each, or 0.05 and 0.20 (batch mean)."""
    rewards = torch.tensor([[1.0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.float64)
    for baseline, expected in (("prompt", (0.128, 0.128)), ("batch", (0.05, 0.20))):
        weights = weigh("fade", rewards, {}, {"alpha": 2.0, "delta": 1.0}, baseline=baseline)[0]
        np.testing.assert_allclose([weights[0] / 5, -weights[1:].sum() / 5], expected, rtol=1e-9)


def test_ha_dw_follows_earlier_steps():
    estimator = Estimator("ha_dw", {"rate": 0.5})
    low, high = torch.zeros(1, 4).double(), torch.ones(1, 4).double()
    _, state = estimator.step(low, {}, {})
    assert state == {"anchor": 0.0, "next_anchor": 0.0}
    _, state = estimator.step(high, {}, state)
    assert state == {"anchor": 0.0, "next_anchor": 0.5}
    assert estimator.step(high, {}, state)[1]["anchor"] == 0.5

"""Estimators that are one another at a setting, or in a limit."""

import math

import pytest
import torch
from support.members import R8, same, w8, weigh

from rlvr.estimators import inputs_at_reference


@pytest.mark.parametrize(
    ("name", "settings", "other", "factor"),
    [
        ("power_alpha", {"alpha": 1.0}, "dr_grpo", 1.0),
        ("asym_power_alpha", {"alpha_s": 1.0, "alpha_f": 1.0}, "dr_grpo", 1.0),
        ("asym_grpo", {"delta": 1.0}, "dr_grpo", 1.0),
        ("asym_shift", {"delta": 0.0}, "dr_grpo", 1.0),
        ("rloo", {}, "dr_grpo", 8 / 7),
        ("grpo", {"std": "unbiased"}, "grpo", math.sqrt(7 / 8)),
        ("power_norm", {"gamma": 0.5}, "grpo", 1.0),
        ("power_norm", {"gamma": -0.5}, "skew_r", 1.0),
        ("pass_at_k", {"k": 1}, "grpo", 1.0),
        ("pass_mix", {"k": 1}, "grpo", 1.0),
        ("t2t", {"alpha": 0.0}, "grpo", 1.0),
        ("w_reinforce", {"lam": 0.0}, "nsr", 1.0),
        ("mc_grpo", {}, "quantile", 1.0),
        ("positive_dominant", {"beta": 1.0}, "grpo", 1.0),
        ("negative_dominant", {"beta": 1.0}, "grpo", 1.0),
        ("ace", {"alpha": 0.0}, "grpo", 1.0),
        ("ace", {"alpha": 0.0, "base": "rloo"}, "rloo", 1.0),
        ("lens", {"groups": "mixed"}, "grpo", 1.0),  # equally confident: the calibration is affine
        ("pacs", {"class_weights": False}, "rloo", 1.0),
        ("pacs", {"class_weights": False, "score": "dr_grpo"}, "dr_grpo", 1.0),
        ("pacs", {"class_weights": False, "beta": 0.875}, "dr_grpo", 1.0),  # psi_RLOO = G / (G - 1) psi_DrGRPO
    ],
)
def test_reduces_to(name, settings, other, factor):
    same(w8(name, **settings), factor * w8(other))


def test_power_norm_at_one_is_flat():
    weights, p = w8("power_norm", gamma=1.0), R8.mean(1)
    same((weights * R8).mean(1)[(p > 0) & (p < 1)], torch.ones(254, dtype=torch.float64))


def test_fade_reduces_to_its_parts():
    given = inputs_at_reference(R8)
    same(weigh("fade", R8, given, {"alpha": 2.0, "delta": 1.0}), w8("power_alpha", alpha=2.0))
    same(weigh("fade", R8, given, {"alpha": 1.0, "delta": 0.4}), w8("asym_grpo", delta=0.4))
    same(weigh("fade", R8, given, {"alpha": 1.0, "delta": 1.0}), w8("dr_grpo"))


def test_ha_dw_at_its_anchor_is_the_scaled_base():
    rewards = torch.tensor([[1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    found = weigh("ha_dw", rewards, {}, {"anchor": 0.5}, base="dr_grpo", lam=1.5)
    same(found, 1.5 * weigh("dr_grpo", rewards, {}))


def test_max_rl_is_an_endless_row_of_retries():
    """q = sum over j >= 1 of p q^j (FADE, sec. 9.2, without an end)."""
    p = R8.mean(1)[(R8.mean(1) > 0)]
    series = sum(p * (1 - p) ** j for j in range(1, 400))
    same((w8("max_rl") * R8).mean(1)[R8.mean(1) > 0], series)


def test_softmax_limits():
    wide, narrow = w8("softmax", beta=60.0, scale="group"), w8("softmax", beta=1e-6, scale="group")
    mixed = R8.mean(1) > 0
    torch.testing.assert_close(wide[mixed], w8("max_rl")[mixed], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(narrow / 1e-6, w8("dr_grpo"), rtol=1e-5, atol=1e-5)


def test_log_mean_exp_limits():
    torch.testing.assert_close(w8("log_mean_exp", beta=1e-5), w8("rloo") / 8, rtol=0, atol=1e-5)
    wide = w8("log_mean_exp", beta=300.0)
    torch.testing.assert_close(wide, w8("pass_at_k_loo"), rtol=0, atol=0.02)
    assert torch.isfinite(w8("log_mean_exp", beta=5000.0)).all()


def test_binary_contrastive_is_lens_with_the_policy_as_preference():
    """LENS App. C: with rho = pi the penalty is 1 / (D - 1), D = 1 / p."""
    p = R8.mean(1, keepdim=True)
    mixed = ((p > 0) & (p < 1)).squeeze(1)
    penalty = torch.where(R8 == 1, torch.ones_like(R8), -1 / (1 / p - 1))
    same(w8("binary_contrastive")[mixed], penalty[mixed])

"""Laws that every estimator keeps."""

import pytest
import torch
from support.members import ACROSS_GROUPS, IN_ORDER, inputs, member, outcomes, weigh

from rlvr import estimators
from rlvr.estimators import Estimator


def only(given: dict, choose) -> dict:
    return {key: choose(value) if isinstance(value, torch.Tensor) else value for key, value in given.items()}


def test_the_papers_methods_are_here():
    wanted = """reinforce rloo grpo dr_grpo psr nsr w_reinforce grpo_lead skew_r power_alpha asym_power_alpha asym_grpo
        t2t max_rl pass_at_k pass_at_k_loo pass_mix asym_shift quantile mc_grpo binary_contrastive power_norm softmax
        log_mean_exp ha_dw relu ace lens a_grae positive_dominant negative_dominant hard_focused easy_focused fade
        pacs f_grpo min_baseline"""
    assert set(wanted.split()) <= set(estimators.names())


@member
@pytest.mark.parametrize("rollouts", range(2, 9))
def test_finite_on_every_binary_group(name, settings, rollouts):
    rewards = outcomes(rollouts)
    weights = weigh(name, rewards, inputs(rewards), **settings)
    assert weights.shape == rewards.shape and weights.dtype == rewards.dtype
    assert torch.isfinite(weights).all()


@member
def test_finite_on_shaped_rewards(name, settings):
    """DAPO's overlong penalty takes rewards below zero and between the classes."""
    rewards = outcomes(5) - torch.rand(32, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.isfinite(weigh(name, rewards, inputs(rewards), **settings)).all()


@member
def test_large_rewards_have_the_weights_of_their_scale(name, settings):
    """Of rewards times s they are those of the rewards times 1, s or s^2, or not finite, which `rlvr weigh` refuses."""
    rewards = torch.tensor([[1.0, 0, 0, 1], [3, -1, 0, 2], [-2, -1, 0, 0]], dtype=torch.float64)
    given, scale = inputs(rewards), 2.0**340
    small = weigh(name, rewards * 2.0**50, given, **settings)
    large = weigh(name, rewards * 2.0**50 * scale, given, **settings)
    powers = [torch.isclose(large, small * factor, rtol=1e-6, atol=0) for factor in (1.0, scale, scale**2)]
    assert (powers[0] | powers[1] | powers[2] | ~large.isfinite()).all(), (small, large)


@member
def test_rewards_too_large_to_be_squared_are_refused(name, settings):
    for dtype, size in ((torch.float64, 1e200), (torch.float64, -1e308), (torch.float32, 1e20)):
        rewards = torch.tensor([[1.0, 0], [size, 0]], dtype=dtype)
        with pytest.raises(ValueError, match="rewards: the numbers given are too large"):
            Estimator(name, settings).step(rewards, inputs(rewards), {})


@member
def test_permuting_rollouts_and_prompts_permutes_weights(name, settings):
    rewards = outcomes(5)
    given = inputs(rewards)
    weights = weigh(name, rewards, given, **settings)
    rows, columns = (torch.randperm(n, generator=torch.Generator().manual_seed(n)) for n in (32, 5))
    again = weigh(name, rewards[rows][:, columns], only(given, lambda x: x[rows][:, columns]), **settings)
    if (name, settings) in IN_ORDER:
        assert not torch.allclose(again, weights[rows][:, columns])
    else:
        torch.testing.assert_close(again, weights[rows][:, columns], rtol=1e-10, atol=1e-12)


@member
def test_groups_do_not_see_each_other(name, settings):
    rewards = outcomes(4)
    given = inputs(rewards)
    weights = weigh(name, rewards, given, **settings)
    alone = torch.cat(
        [weigh(name, rewards[i : i + 1], only(given, lambda x, i=i: x[i : i + 1]), **settings) for i in range(16)]
    )
    if (name, settings) in ACROSS_GROUPS:
        assert not torch.allclose(alone, weights)
    else:
        torch.testing.assert_close(alone, weights, rtol=1e-12, atol=1e-12)


@member
def test_float32_agrees_with_float64(name, settings):
    rewards = outcomes(6)
    given = inputs(rewards)
    double = weigh(name, rewards, given, **settings)
    single = weigh(name, rewards.float(), only(given, lambda x: x.float()), **settings)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), double, rtol=5e-5, atol=2e-6)


@member
def test_nothing_given_is_changed(name, settings):
    rewards = outcomes(4)
    given = inputs(rewards)
    before, copies = rewards.clone(), only(given, torch.clone)
    weights = weigh(name, rewards, given, **settings)
    weights.add_(1.0)
    assert torch.equal(rewards, before)
    assert all(torch.equal(copies[k], v) for k, v in given.items() if isinstance(v, torch.Tensor))

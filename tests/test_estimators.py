"""Weights: laws that all estimators keep, reductions, and ACE by hand."""

import itertools
import math

import numpy as np
import pytest
import torch

from rlvr import estimators


def outcomes(groups: int) -> torch.Tensor:
    """All 2^G binary reward groups."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=groups)), dtype=torch.float64)


def inputs(name: str, rewards: torch.Tensor, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    made = {
        "log_ratio_PG": torch.randn(rewards.shape, generator=generator, dtype=rewards.dtype),
        "lengths_PG": torch.randint(1, 30, rewards.shape, generator=generator).to(rewards.dtype),
    }
    return {key: made[key] for key in estimators.signature(name).needs}


@pytest.fixture(params=estimators.names())
def name(request):
    return request.param


@pytest.mark.parametrize("groups", [2, 3, 8])
def test_finite_on_every_binary_group(name, groups):
    rewards = outcomes(groups)
    weights = estimators.load(name)(rewards, **inputs(name, rewards))
    assert weights.shape == rewards.shape
    assert torch.isfinite(weights).all()


def test_permuting_rollouts_and_prompts_permutes_weights(name):
    rewards = outcomes(5)
    given = inputs(name, rewards)
    weights = estimators.load(name)(rewards, **given)
    rows, columns = torch.randperm(32), torch.randperm(5)
    shuffled = {key: value[rows][:, columns] for key, value in given.items()}
    again = estimators.load(name)(rewards[rows][:, columns], **shuffled)
    torch.testing.assert_close(again, weights[rows][:, columns], rtol=0, atol=1e-12)


def test_groups_do_not_see_each_other(name):
    rewards = outcomes(4)
    given = inputs(name, rewards)
    weights = estimators.load(name)(rewards, **given)
    alone = [
        estimators.load(name)(rewards[i : i + 1], **{k: v[i : i + 1] for k, v in given.items()}) for i in range(16)
    ]
    torch.testing.assert_close(torch.cat(alone), weights)


def test_float32_agrees_with_float64(name):
    rewards = outcomes(6)
    given = inputs(name, rewards)
    double = estimators.load(name)(rewards, **given)
    single = estimators.load(name)(rewards.float(), **{k: v.float() for k, v in given.items()})
    torch.testing.assert_close(single.double(), double, rtol=2e-5, atol=1e-6)


def test_grpo_masses_are_the_closed_form():
    rewards = outcomes(8)
    p = rewards.mean(1)
    weights = estimators.load("grpo")(rewards, epsilon=0.0 + 1e-300)
    inside = (p > 0) & (p < 1)
    positive, negative = weights.clamp(min=0).mean(1), (-weights).clamp(min=0).mean(1)
    expected = (p * (1 - p)).sqrt()
    torch.testing.assert_close(positive[inside], expected[inside], rtol=0, atol=1e-12)
    torch.testing.assert_close(negative[inside], expected[inside], rtol=0, atol=1e-12)


def test_unbiased_grpo_is_scaled_biased_grpo():
    rewards = outcomes(8)
    biased = estimators.load("grpo")(rewards, std="biased", epsilon=1e-15)
    unbiased = estimators.load("grpo")(rewards, std="unbiased", epsilon=1e-15)
    torch.testing.assert_close(unbiased, math.sqrt(7 / 8) * biased, rtol=1e-10, atol=1e-10)


def test_rloo_is_scaled_dr_grpo():
    rewards = outcomes(6)
    expected = estimators.load("dr_grpo")(rewards) * 6 / 5
    torch.testing.assert_close(estimators.load("rloo")(rewards), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("base", ["grpo", "dr_grpo", "rloo"])
def test_ace_without_strength_is_its_base_to_the_bit(base):
    rewards = outcomes(6)
    ace = estimators.load("ace")(rewards, **inputs("ace", rewards), base=base, alpha=0.0)
    assert torch.equal(ace, estimators.load(base)(rewards))


def test_ace_by_hand():
    """ACE Eq. 7's examples: c = 2, 0, -3 weigh 1 + 2.13, 1 + 0.69, 1 + 0.05; the right rollout is unchanged."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    shift = torch.tensor([[5.0, 2.0, 0.0, -3.0]], dtype=torch.float64)
    lengths = torch.full((1, 4), 10.0, dtype=torch.float64)
    ace = estimators.load("ace")(rewards, log_ratio_PG=shift, lengths_PG=lengths, aggregation="sum", epsilon=0.0)
    standard = -0.25 / math.sqrt(0.25 * 0.75)
    factors = [1 + math.log1p(math.exp(c)) for c in (2.0, 0.0, -3.0)]
    np.testing.assert_allclose(ace[0, 1:], [standard * f for f in factors], rtol=1e-12)
    np.testing.assert_allclose(factors, [1 + 2.13, 1 + 0.69, 1 + 0.05], atol=5e-3)
    np.testing.assert_allclose(ace[0, 0], 0.75 / math.sqrt(0.25 * 0.75), rtol=1e-12)


def test_ace_readings_differ_by_the_length():
    rewards = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.tensor([[1.0, 2.0, -4.0]]).double(), "lengths_PG": torch.full((1, 3), 8.0).double()}
    mean = estimators.load("ace")(rewards, **given, aggregation="mean")
    summed = estimators.load("ace")(
        rewards, log_ratio_PG=given["log_ratio_PG"] / 8, lengths_PG=given["lengths_PG"], aggregation="sum"
    )
    torch.testing.assert_close(mean, summed)


def test_ace_at_the_reference_is_a_uniform_penalty():
    """At pi = pi_ref every error is scaled by 1 + ln 2, whatever it is: not selective at the start."""
    rewards = outcomes(8)[1:-1]
    still = {"log_ratio_PG": torch.zeros_like(rewards), "lengths_PG": torch.ones_like(rewards)}
    ace, grpo = estimators.load("ace")(rewards, **still), estimators.load("grpo")(rewards)
    torch.testing.assert_close(ace, torch.where(grpo < 0, grpo * (1 + math.log(2)), grpo))


def test_relu_leaves_errors_alone_that_lost_confidence():
    rewards = outcomes(6)
    given = inputs("ace", rewards)
    relu = estimators.load("ace")(rewards, **given, modulation="relu")
    grpo = estimators.load("grpo")(rewards)
    falling = given["log_ratio_PG"] <= 0
    assert torch.equal(relu[falling], grpo[falling])
    rising_errors = (given["log_ratio_PG"] > 0) & (grpo < 0)
    assert (relu[rising_errors] < grpo[rising_errors]).all()


def test_negatives_readings_differ_for_shaped_rewards():
    """A right but overlong rollout below the mean is an error for sec. 3's reading, not for Algorithm 1's."""
    rewards = torch.tensor([[1.0, 1.0, 0.2, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.ones(1, 4).double(), "lengths_PG": torch.ones(1, 4).double()}
    below = estimators.load("ace")(rewards, **given, negatives="below_mean")
    zero = estimators.load("ace")(rewards, **given, negatives="zero_reward")
    assert below[0, 2] < zero[0, 2] and below[0, 3] == zero[0, 3]


def test_negative_alpha_is_refused():
    rewards = outcomes(2)
    with pytest.raises(ValueError, match="alpha"):
        estimators.load("ace")(rewards, **inputs("ace", rewards), alpha=-1.0)


def test_signature_is_read_from_the_source():
    signature = estimators.signature("ace")
    assert signature.needs == ("log_ratio_PG", "lengths_PG")
    assert signature.settings["alpha"].default == 1.0
    assert signature.settings["modulation"].choices == ("softplus", "relu")
    assert estimators.needs("grpo", {}) == set()

"""Surrogate, divergence and aggregation, against hand calculations and autograd."""

import math

import pytest
import torch

from rlvr.training.losses import aggregation, gspo, kl, ppo_clip


def test_surrogate_by_hand():
    old = torch.zeros(4)
    new = torch.tensor([1.5, 0.5, 1.5, 0.5]).log()
    advantages = torch.tensor([1.0, 1.0, -1.0, -1.0])
    loss, clipped = ppo_clip.surrogate(new, old, advantages, clip_low=0.2, clip_high=0.28)
    torch.testing.assert_close(loss, torch.tensor([-1.28, -0.5, 1.5, 0.8]))
    assert clipped.tolist() == [True, False, False, True]


def test_dual_clip_by_hand():
    """Ye et al. 2020, with c = 3: of a negative advantage alone, and without a gradient beyond c."""
    new = torch.tensor([5.0, 2.0, 0.5, 5.0], dtype=torch.float64).log().requires_grad_()
    advantages = torch.tensor([-2.0, -2.0, -2.0, 2.0], dtype=torch.float64)
    bounds = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0}
    losses, clipped = ppo_clip.surrogate(new, torch.zeros(4, dtype=torch.float64), advantages, **bounds)
    losses.sum().backward()
    torch.testing.assert_close(losses.detach(), torch.tensor([6.0, 4.0, 1.6, -2.56], dtype=torch.float64))
    torch.testing.assert_close(new.grad, torch.tensor([0.0, 4.0, 0.0, 0.0], dtype=torch.float64))
    assert clipped.tolist() == [True, False, True, True]


def test_on_policy_gradient_is_reinforce():
    logprobs = torch.randn(5, dtype=torch.float64, requires_grad=True)
    advantages = torch.randn(5, dtype=torch.float64)
    loss, clipped = ppo_clip.surrogate(logprobs, logprobs.detach(), advantages, clip_low=0.2, clip_high=0.2)
    loss.sum().backward()
    torch.testing.assert_close(logprobs.grad, -advantages)
    assert not clipped.any()


def test_k3_is_the_divergence_in_expectation():
    policy = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    reference = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)
    estimate = (policy * kl.k3(policy.log(), reference.log())).sum()
    exact = (policy * (policy / reference).log()).sum()
    torch.testing.assert_close(estimate, exact)
    assert (kl.k3(policy.log(), reference.log()) >= 0).all()


def test_k3_is_bounded_a_token():
    """By hand, and no gradient is infinite where exp(d) is."""
    d = torch.tensor([-math.inf, -30.0, -11.5, -1.0, 1.0, 2.5, 3.0, 60.0, 2000.0], dtype=torch.float64)
    logprobs = (-d).requires_grad_()
    divergence = kl.k3(logprobs, torch.zeros_like(logprobs))
    expected = [10, 10, 10, math.exp(-1), math.e - 2, math.exp(2.5) - 3.5, 10, 10, 10]
    torch.testing.assert_close(divergence.detach(), torch.tensor(expected, dtype=torch.float64))
    divergence.sum().backward()
    slope = [0, 0, 0, 1 - math.exp(-1), 1 - math.e, 1 - math.exp(2.5), 0, 0, 0]
    torch.testing.assert_close(logprobs.grad, torch.tensor(slope, dtype=torch.float64))


def test_aggregations_by_hand():
    mask = torch.tensor([[[1, 1, 1, 1], [1, 0, 0, 0]]])
    losses = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [10.0, 0.0, 0.0, 0.0]]])

    def total(mode):
        weights = aggregation.token_weights(mask, mode=mode, sequences=2, tokens=5, longest=8)
        return float((losses * weights).sum())

    assert math.isclose(total("token_mean"), 20 / 5)
    assert math.isclose(total("sequence_mean"), (2.5 + 10) / 2)
    assert math.isclose(total("sequence_sum"), 20 / (2 * 8))
    with pytest.raises(ValueError, match="token_mean"):
        total("mean")


def test_gspo_by_hand_and_its_gradient():
    """Two sequences: the loss is that of the sequence's ratio, and so is its gradient (finite differences)."""
    old = torch.tensor([[-1.0, -0.5, -2.0], [-0.3, -0.2, 0.0]], dtype=torch.float64)
    new = (old + torch.tensor([[0.3, -0.1, 0.1], [0.2, 0.4, 0.0]], dtype=torch.float64)).requires_grad_()
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]], dtype=torch.bool)
    weights = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    each = aggregation.token_weights(mask, mode="sequence_mean", sequences=2, tokens=5, longest=3).double()

    def of_sequences(logprobs):
        ratio = torch.stack([((logprobs - old)[0]).mean().exp(), ((logprobs - old)[1, :2]).mean().exp()])
        return -torch.minimum(ratio * weights[:, 0], ratio.clamp(0.8, 1.2) * weights[:, 0]).mean()

    losses, clipped = gspo.surrogate(new, old, weights, mask, clip_low=0.2, clip_high=0.2)
    total = (losses * each).sum()
    assert math.isclose(float(total), (-math.exp(0.1) + math.exp(0.3)) / 2, rel_tol=1e-6) and not clipped.any()
    total.backward()
    step = 1e-6
    for row, column in ((0, 0), (0, 2), (1, 1)):
        moved = new.detach().clone()
        moved[row, column] += step
        slope = (of_sequences(moved) - of_sequences(new.detach())) / step
        assert math.isclose(float(new.grad[row, column]), float(slope), rel_tol=1e-4)
    _, clipped = gspo.surrogate(new, old, -weights, mask, clip_low=0.2, clip_high=0.2)
    assert clipped[1, :2].all() and not clipped[0].any()  # 1.35 > 1.2 with a positive weight

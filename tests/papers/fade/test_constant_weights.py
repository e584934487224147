"""The shipped losses agree with the ledger on weights that differ by a constant."""

import pytest
import torch
from torch import Tensor

from rlvr.papers.fade.theory import constants
from rlvr.theory._groups import weigh
from rlvr.theory._policy import PI, RIGHT
from rlvr.training.losses import aggregation, ppo_clip

WIDE = 100.0  # a clip range that no ratio leaves


def gradient(name: str, policy: Tensor, clip: float) -> Tensor:
    """The expected gradient of the surrogate at `policy`, for answers of PI with an estimator's weights."""
    theta = policy.log().requires_grad_()
    weights = weigh(name, RIGHT[:, None])[:, 0]
    losses, _ = ppo_clip.surrogate(theta.log_softmax(0), PI.log(), weights, clip_low=min(clip, 1.0), clip_high=clip)
    return torch.autograd.grad(-(PI @ losses), theta)[0]


def test_on_policy_psr_and_nsr_have_one_gradient_and_w_reinforce_a_multiple_of_it():
    psr, nsr, weighted = (gradient(name, PI, 0.2) for name in ("psr", "nsr", "w_reinforce"))
    torch.testing.assert_close(psr, nsr)
    torch.testing.assert_close(weighted, 1.1 * psr)
    assert psr.norm() > 0.1


def test_stale_rollouts_keep_it_until_a_ratio_is_clipped():
    wide = [gradient(name, constants.moved(), WIDE) for name in ("psr", "nsr")]
    torch.testing.assert_close(wide[0], wide[1])
    clipped = [gradient(name, constants.moved(), 0.2) for name in ("psr", "nsr")]
    assert (clipped[0] - clipped[1]).abs().max() > 0.05
    for found, weight in zip([*wide, *clipped], [RIGHT, RIGHT - 1] * 2, strict=True):
        form = "ratio" if found is wide[0] or found is wide[1] else "clipped"
        torch.testing.assert_close(found, constants.stale(weight, form))


@pytest.mark.parametrize("mode", aggregation.MODES)
def test_a_loss_over_tokens_keeps_it_only_with_a_fixed_divisor(mode):
    """Two on-policy responses of one or two tokens: each token once, with the weight of the minibatch's aggregation."""
    first = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)  # the last one ends the response

    def expected(weight: float) -> Tensor:
        theta = torch.zeros(2, 3, dtype=torch.float64) + first.log()
        theta.requires_grad_()
        log_pi = theta.log_softmax(1)
        total = torch.zeros((), dtype=torch.float64)
        responses = [(2,), *[(a, b) for a in (0, 1) for b in (0, 1, 2)]]
        for one in responses:
            for other in responses:
                mask = torch.tensor([[step < len(r) for step in range(2)] for r in (one, other)])
                tokens = aggregation.token_weights(mask, mode=mode, sequences=2, tokens=int(mask.sum()), longest=2)
                logs = [[log_pi[step, token] for step, token in enumerate(r)] for r in (one, other)]
                chance = torch.stack([sum(row[1:], row[0]) for row in logs]).sum().detach().exp()
                for row, by_token in zip(logs, tokens, strict=True):
                    total = total + chance * weight * sum(w * log for w, log in zip(by_token, row, strict=False))
        return torch.autograd.grad(total, theta)[0]

    size = float(expected(1.0).abs().max())
    assert (size < 1e-7) == (mode == "sequence_sum") and (mode == "sequence_sum" or size > 1e-2)

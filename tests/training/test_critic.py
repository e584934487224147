"""PPO's value model: GAE and the clipped loss by hand, values of a small known problem, both engines, a kill."""

import math
from itertools import product

import pytest
import torch
from conftest import tiny

from rlvr.config.schema.settings import Critic, Rl
from rlvr.training import gae
from rlvr.training.batches import Groups
from rlvr.training.critic import ValueModel
from rlvr.training.forward import Microbatch
from rlvr.training.losses import value

RL = Rl(
    epochs=1, steps=1, prompts_per_step=1, prompts_per_minibatch=1, sequences_per_microbatch=64, optimizer="AdamW",
    learning_rate=1e-3, warmup_steps=0, weight_decay=0.0, betas=(0.9, 0.999), max_grad_norm=None, precision="float32",
)  # fmt: skip


def test_gae_by_hand():
    """Two tokens, gamma 0.9, lambda 0.8: delta_2 = 1 - 0.5, delta_1 = 0.9 x 0.5 - 0.25, A_1 = delta_1 + 0.72 A_2."""
    values, mask = torch.tensor([[0.25, 0.5, 9.0]]), torch.tensor([[True, True, False]])
    rewards = gae.rewards_at_the_end(torch.tensor([1.0]), mask)
    assert rewards.tolist() == [[0.0, 1.0, 0.0]]
    advantages, returns = gae.advantages(rewards, values, mask, gamma=0.9, lam=0.8)
    torch.testing.assert_close(advantages, torch.tensor([[0.2 + 0.72 * 0.5, 0.5, 0.0]]))
    torch.testing.assert_close(returns, torch.tensor([[0.25 + 0.56, 1.0, 0.0]]))


@pytest.mark.parametrize(("gamma", "lam"), [(0.95, 0.7), (1.0, 1.0)])
def test_gae_is_the_sum_of_its_definition(gamma, lam):
    generator = torch.Generator().manual_seed(0)
    values, rewards = (torch.randn(3, 6, generator=generator, dtype=torch.float64) for _ in range(2))
    mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
    found, returns = gae.advantages(rewards * mask, values, mask, gamma=gamma, lam=lam)
    for n, length in enumerate((6, 1, 4)):
        after = [*values[n, 1:length].tolist(), 0.0]
        delta = [float(rewards[n, t]) + gamma * after[t] - float(values[n, t]) for t in range(length)]
        for t in range(length):
            direct = sum((gamma * lam) ** i * delta[t + i] for i in range(length - t))
            assert float(found[n, t]) == pytest.approx(direct)
            assert float(returns[n, t]) == pytest.approx(direct + float(values[n, t]))
    assert not found[~mask].any() and not returns[~mask].any()


def test_whitened_advantages():
    mask = torch.arange(5) < torch.tensor([[5], [2]])
    white = gae.whitened(torch.randn(2, 5) * 3 + 7, mask)
    assert float(white[mask].mean()) == pytest.approx(0, abs=1e-5) and float(white[mask].var()) == pytest.approx(1)
    assert not white[~mask].any()
    assert not gae.whitened(torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool)).any()


def test_the_clipped_loss_by_hand():
    """V 0.5 above its old value with a clip of 0.2: the worse of (V - R)^2 and (V_clip - R)^2, halved."""
    new, old, returns = torch.tensor([0.9, 0.9, 0.5]), torch.tensor([0.4, 0.4, 0.4]), torch.tensor([1.0, 0.0, 1.0])
    losses, limited = value.clipped(new, old, returns, clip=0.2)
    torch.testing.assert_close(losses, torch.tensor([0.4**2, 0.9**2, 0.5**2]) / 2)
    assert limited.tolist() == [True, False, False]


def models(tmp_path):
    """The same tiny policy for torch and for the native engine."""
    from rlvr.policies.native.saved import SavedModel
    from rlvr.policies.native.trained import NativeModel

    policy = tiny("qwen2")
    policy.model.save_pretrained(tmp_path / "policy")
    return {"torch": policy.model, "native": NativeModel(SavedModel.read(tmp_path / "policy"))}


def chain(length: int) -> tuple[Groups, torch.Tensor, torch.Tensor]:
    """All responses of `length` tokens over two letters, each once: a uniform policy's; their rewards; their values.

    The reward is 1 where the response has more of the second letter, and V_t its mean over all ends: a random walk.
    """
    words = list(product((5, 6), repeat=length))
    rewards = torch.tensor([[float(word.count(6) > length / 2) for word in words]])
    groups = Groups(
        torch.tensor([[7, 8]]), torch.tensor([2]), torch.tensor([words]), torch.full((1, len(words)), length)
    )
    values = [
        [
            sum(math.comb(length - t, k) for k in range(length - t + 1) if k + word[:t].count(6) > length / 2)
            / 2 ** (length - t)
            for t in range(length)
        ]
        for word in words
    ]
    return groups, rewards, torch.tensor([values])


@pytest.mark.parametrize(("engine", "steps", "rate", "near"), [("native", 400, 3e-3, 1e-3), ("torch", 150, 5e-3, 5e-3)])
def test_values_of_a_random_walk(engine, steps, rate, near, tmp_path):
    """Fitted to the returns of all ways through a small chain, values are the exact ones. The torch engine is slow."""
    groups, rewards_PG, exact_PGT = chain(4)
    critic = ValueModel(models(tmp_path)[engine], Critic(learning_rate=rate, clip=100.0), RL, Microbatch())
    assert not critic.estimate(groups, rewards_PG).values_PGT.any()  # the head is 0 at first
    figures = {}
    for step in range(steps):
        for group in critic.optimizer.param_groups:
            group["lr"] = rate * (1 - step / steps)
        figures = critic.update(groups, critic.estimate(groups, rewards_PG))
    estimates = critic.estimate(groups, rewards_PG)
    torch.testing.assert_close(estimates.values_PGT, exact_PGT, atol=near, rtol=0)
    assert 0 < figures["explained_variance"] < 1 and figures["value_clip_fraction"] == 0


def test_both_engines_take_the_same_steps(tmp_path):
    one, rewards_PG, _ = chain(3)
    groups = Groups(*(torch.cat([part, part]) for part in vars(one).values()))  # two minibatches
    rewards_PG = torch.cat([rewards_PG, rewards_PG])
    both, figures = {}, {}
    for name, model in models(tmp_path).items():
        critic = ValueModel(model, Critic(learning_rate=1e-3, clip=0.02), RL, Microbatch())
        for _ in range(6):
            figures = critic.update(groups, critic.estimate(groups, rewards_PG))
        both[name] = critic.estimate(groups, rewards_PG).values_PGT, figures
    torch.testing.assert_close(both["torch"][0], both["native"][0], atol=1e-4, rtol=1e-3)
    assert both["native"][1] == pytest.approx(both["torch"][1], rel=1e-2, abs=1e-4)
    assert both["native"][1]["value_clip_fraction"] > 0  # the clip was at work


@pytest.mark.parametrize("engine", ["torch", "native"])
@pytest.mark.parametrize(
    ("mode", "whole"),
    [("token_mean", 4 / 2 / 6), ("sequence_mean", (2 / 2 / 2 + 2 / 4 / 2) / 2), ("sequence_sum", 4 / 2 / (2 * 16))],
)
def test_the_critics_loss_is_aggregated_as_the_policys(engine, mode, whole, tmp_path):
    """Two responses of 2 and 4 tokens; values are 0 and all returns of the first 1, of the second sqrt(1/2)."""
    tokens_PGT = torch.tensor([[[5, 6, 0, 0], [5, 6, 5, 6]]])
    groups = Groups(torch.tensor([[7, 8]]), torch.tensor([2]), tokens_PGT, torch.tensor([[2, 4]]))
    settings = Critic(learning_rate=1e-3, clip=100.0)
    critic = ValueModel(models(tmp_path)[engine], settings, RL, Microbatch(), mode=mode, longest=16)
    estimates = critic.estimate(groups, torch.tensor([[1.0, 0.5**0.5]]))
    assert critic.update(groups, estimates)["value_loss"] == pytest.approx(whole, rel=1e-5)


@pytest.mark.verl
def test_gae_and_the_value_loss_are_verls_own():
    """Advantages, returns, loss and gradient of the same batch."""
    from verl.trainer.ppo.core_algos import compute_gae_advantage_return, compute_value_loss

    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(9) < torch.tensor([9, 1, 4, 6])[:, None]
    old = torch.randn(4, 9, generator=generator) * mask
    rewards = gae.rewards_at_the_end(torch.tensor([1.0, 0.0, 1.0, 0.25]), mask)
    ours, returns = gae.advantages(rewards, old, mask, gamma=0.98, lam=0.9)
    theirs, their_returns = compute_gae_advantage_return(rewards, old, mask.float(), gamma=0.98, lam=0.9)
    torch.testing.assert_close(gae.whitened(ours, mask), theirs * mask, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(returns, their_returns * mask, atol=1e-6, rtol=1e-5)
    gradients = []
    for own in (True, False):
        new = (old + 0.3 * torch.randn(4, 9, generator=torch.Generator().manual_seed(1))).requires_grad_()
        if own:
            loss = (value.clipped(new, old, returns, clip=0.2)[0] * mask).sum() / mask.sum()
        else:
            loss, _ = compute_value_loss(new, returns, old, mask.float(), cliprange_value=0.2)
        loss.backward()
        gradients.append((float(loss.detach()), new.grad))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-6)
    torch.testing.assert_close(gradients[0][1], gradients[1][1], atol=1e-8, rtol=1e-5)

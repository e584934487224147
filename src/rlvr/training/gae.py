"""Generalised advantage estimates, for PPO with a value model.

Dimensions: ... any, T response tokens.
"""

import torch
from torch import Tensor


def advantages(rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Advantages A_t and returns A_t + V_t of each token (..., T), zeros on padding (Schulman et al. 2016, Eq. 16).

        A_t = delta_t + gamma lam A_{t+1},    delta_t = r_t + gamma V_{t+1} - V_t

    V_t is the value before token t. After the last token of a response, where its reward is, both V and A are 0.
    """
    after = torch.zeros_like(values[..., 0])
    value, advantage, found = after, after, torch.zeros_like(values)
    for t in reversed(range(values.shape[-1])):
        here = mask[..., t]
        delta = rewards[..., t] + gamma * value - values[..., t]
        advantage = torch.where(here, delta + gamma * lam * advantage, after)
        value = torch.where(here, values[..., t], after)
        found[..., t] = advantage
    return found, (found + values) * mask


def whitened(advantages: Tensor, mask: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the tokens of a batch, as in verl (`masked_whiten`); zeros on padding.

    The variance is over tokens - 1, and 1e-8 is added to it. A single token has weight 0.
    """
    count = mask.sum()
    mean = (advantages * mask).sum() / count
    centred = (advantages - mean) * mask
    variance = (centred**2).sum() / (count - 1).clamp(min=1)
    return centred * (variance + 1e-8).rsqrt()


def rewards_at_the_end(rewards_PG: Tensor, mask_PGT: Tensor) -> Tensor:
    """Rewards of tokens (P, G, T): a response's reward at its last token."""
    steps_T = torch.arange(mask_PGT.shape[-1], device=mask_PGT.device)
    last_PGT = steps_T == mask_PGT.sum(-1, keepdim=True) - 1
    return rewards_PG[..., None] * last_PGT

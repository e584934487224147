"""The clipped surrogate of PPO."""

import torch
from torch import Tensor


def surrogate(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Token losses -min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A), and a mask of tokens with an active clip.

    rho = pi(token) / pi_old(token), the token-level ratio that verl and TRL use; ACE's Eq. 2 writes the
    sequence-level ratio but the paper trained with verl. clip_low = clip_high is PPO (Schulman et al. 2017),
    0.2 / 0.28 is DAPO's clip-higher (Yu et al. 2025, Eq. 10). All arguments broadcast to (..., T).

    `dual_clip` c bounds the loss of negative advantages too, by c |A| (dual-clip PPO: Ye et al. 2020, arXiv
    1912.09729; verl's default is 3).
    """
    ratio = (logprobs - old_logprobs).exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    plain, bounded = ratio * advantages, clipped * advantages
    losses, active = -torch.minimum(plain, bounded), bounded < plain
    if dual_clip is None:
        return losses, active
    over = (advantages < 0) & (ratio > dual_clip)
    return torch.where(over, -dual_clip * advantages, losses), active | over

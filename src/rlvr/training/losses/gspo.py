"""The clipped surrogate with one ratio per sequence."""

import torch
from torch import Tensor

from rlvr.training.losses import ppo_clip


def surrogate(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, *, clip_low: float, clip_high: float
) -> tuple[Tensor, Tensor]:
    """Token losses -min(s A, clip(s, 1 - clip_low, 1 + clip_high) A), and a mask of active clips (both ..., T).

    s = (pi(y) / pi_old(y))^(1/|y|), the geometric mean of the token ratios (GSPO: Zheng et al. 2025, Eq. 7; the
    clip as in its Eq. 5). Each token's loss has that value and the token's own gradient (its Eq. 14), so that with
    `sequence_mean` the gradient is that of the sequence's loss. Advantages broadcast to (..., T).
    """
    lengths = mask.sum(-1, keepdim=True).clamp(min=1)
    sequence = ((logprobs - old_logprobs) * mask).sum(-1, keepdim=True) / lengths
    log_ratio = logprobs - logprobs.detach() + sequence.detach()
    return ppo_clip.surrogate(
        log_ratio, torch.zeros_like(log_ratio), advantages, clip_low=clip_low, clip_high=clip_high
    )

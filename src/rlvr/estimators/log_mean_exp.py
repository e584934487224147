"""LogMeanExp: what a rollout adds to a soft maximum of its group."""

from __future__ import annotations

import torch
from torch import Tensor


def advantages(rewards_PG: Tensor, *, beta: float = 1.0) -> Tensor:
    """Leave-one-out of a soft maximum (Jiang et al. 2025; FADE, sec. 8.9): A_i = lme(r) - lme(r without i).

    lme(r) = log(mean(exp(beta r))) / beta, over G and over G - 1 rewards. beta -> 0 is RLOO / G = Dr.GRPO / (G - 1),
    beta -> infinity Tang's pass@k with k = G. FADE's masses leave out that the normaliser changes from G to G - 1;
    `masses` is exact. Raises ValueError for beta <= 0 and groups of one.
    """
    groups = rewards_PG.shape[1]
    if beta <= 0 or groups < 2:
        raise ValueError(f"LogMeanExp needs beta > 0 and at least two rollouts a prompt: {beta}, {groups}")
    scaled_PG = beta * rewards_PG
    ordered_PG, order_PG = scaled_PG.sort(dim=1)
    shifted_PG = (ordered_PG - ordered_PG[:, -1:]).exp()
    below_PG = shifted_PG.cumsum(dim=1)  # sums of small terms first: what is left without the largest keeps its digits
    total_P1 = below_PG[:, -1:]
    second_P1 = (ordered_PG - ordered_PG[:, -2:-1])[:, :-1].exp().sum(dim=1, keepdim=True)
    without_PG = torch.log1p(-shifted_PG / total_P1)
    largest_P1 = ordered_PG[:, -2:-1] - ordered_PG[:, -1:] + second_P1.log() - total_P1.log()
    without_PG = torch.cat([without_PG[:, :-1], largest_P1], dim=1)
    gain_PG = -(without_PG + torch.log(torch.tensor(groups / (groups - 1), dtype=rewards_PG.dtype))) / beta
    return torch.empty_like(gain_PG).scatter_(1, order_PG, gain_PG)


def masses(p: Tensor, groups: int, *, beta: float = 1.0) -> tuple[Tensor, Tensor]:
    """m_S = p (log(1 + (e^beta - 1) p) - log(1 + (e^beta - 1) (Gp - 1) / (G - 1))) / beta; m_F likewise"""
    grow = torch.expm1(torch.tensor(beta, dtype=p.dtype))
    whole = torch.log1p(grow * p)
    success = whole - torch.log1p(grow * ((groups * p - 1).clamp(min=0) / (groups - 1)))
    failure = whole - torch.log1p(grow * (groups * p / (groups - 1)).clamp(max=1))
    return p * success / beta, -(1 - p) * failure / beta

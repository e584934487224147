"""LogMeanExp: what a rollout adds to a soft maximum of its group."""

from __future__ import annotations

from math import log

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
    scaled_PG = beta * rewards_PG.double()  # differences of logarithms: float32 would lose a small beta
    largest_P1, place_P1 = scaled_PG.max(dim=1, keepdim=True)
    others_PG = scaled_PG.scatter(1, place_P1, float("-inf"))
    second_P1 = others_PG.amax(dim=1, keepdim=True)
    shares_PG = (others_PG - second_P1).exp()
    rest_P1 = shares_PG.sum(dim=1, keepdim=True)  # of the others, so that they keep their digits beside the largest
    ratio_P1 = (second_P1 - largest_P1).exp()
    whole_P1 = 1 + ratio_P1 * rest_P1
    without_PG = torch.log1p(-ratio_P1 * shares_PG / whole_P1)
    without_PG = without_PG.scatter(1, place_P1, second_P1 - largest_P1 + rest_P1.log() - whole_P1.log())
    return (-(without_PG + log(groups / (groups - 1))) / beta).to(rewards_PG.dtype)


def masses(p: Tensor, groups: int, *, beta: float = 1.0) -> tuple[Tensor, Tensor]:
    """m_S = p (log(1 + (e^beta - 1) p) - log(1 + (e^beta - 1) (Gp - 1) / (G - 1))) / beta; m_F likewise"""
    grow = torch.expm1(torch.tensor(beta, dtype=p.dtype))
    whole = torch.log1p(grow * p)
    success = whole - torch.log1p(grow * ((groups * p - 1).clamp(min=0) / (groups - 1)))
    failure = whole - torch.log1p(grow * (groups * p / (groups - 1)).clamp(max=1))
    return p * success / beta, -(1 - p) * failure / beta

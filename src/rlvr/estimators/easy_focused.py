"""The control of A-GRAE that shifts weight to easy problems."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from rlvr.estimators import _groups, base_masses, load_base


def advantages(
    rewards_PG: Tensor,
    *,
    gamma: float = 0.5,
    base: Literal["grpo", "dr_grpo", "rloo"] = "grpo",
    std: Literal["biased", "unbiased"] = "biased",
    epsilon: float = 1e-6,
) -> Tensor:
    """Easy-focused (A-GRAE, sec. 4.1, Table 1b): gamma A / sqrt(1 - p), p the solve rate, for 0 < p < 1.

    gamma = 1/2 keeps the largest sum of |A| at GRPO's. Elsewhere nothing is rescaled; for binary rewards
    A is 0 there. Raises ValueError for gamma <= 0.
    """
    if gamma <= 0:
        raise ValueError(f"gamma must be positive: {gamma}")
    base_PG, p_P1 = load_base(base, std=std, epsilon=epsilon)(rewards_PG), _groups.solve_rate(rewards_PG)
    inside = (p_P1 > 0) & (p_P1 < 1)
    return base_PG * torch.where(inside, gamma / (1 - p_P1).sqrt(), 1.0)


def masses(
    p: Tensor,
    groups: int,
    *,
    gamma: float = 0.5,
    base: Literal["grpo", "dr_grpo", "rloo"] = "grpo",
    std: Literal["biased", "unbiased"] = "biased",
    epsilon: float = 1e-6,
) -> tuple[Tensor, Tensor]:
    """m_S = m_F = m gamma / sqrt(q); with GRPO sqrt(p) / 2"""
    success, failure = base_masses(base, p, groups, std=std, epsilon=epsilon)
    return gamma * _groups.divide(success, (1 - p).sqrt()), gamma * _groups.divide(failure, (1 - p).sqrt())

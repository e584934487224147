"""The control of A-GRAE that shifts weight to hard problems."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor, *, gamma: float = 0.5, base: Base = "grpo", std: Std = "biased", epsilon: float = 1e-6
) -> Tensor:
    """Hard-focused (A-GRAE, sec. 4.1, Table 1b): gamma A / sqrt(p), p the solve rate, for 0 < p < 1.

    gamma = 1/2 keeps the largest sum of |A| at GRPO's. Elsewhere nothing is rescaled; for binary rewards
    A is 0 there. Raises ValueError for gamma <= 0.
    """
    return load_base(base, std=std, epsilon=epsilon)(rewards_PG) * factor(_groups.solve_rate(rewards_PG), gamma)


def factor(share: Tensor, gamma: float) -> Tensor:
    """gamma / sqrt(share) inside (0, 1), 1 at its ends: of the correct here, of the wrong in `easy_focused`."""
    if gamma <= 0:
        raise ValueError(f"gamma must be positive: {gamma}")
    return torch.where((share > 0) & (share < 1), gamma / share.sqrt(), 1.0)


def masses(p: Tensor, rollouts: int, *, gamma: float, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m_F = m gamma / sqrt(p); with GRPO sqrt(q) / 2"""
    success, failure = base_masses(p, rollouts, **base)
    return success * factor(p, gamma), failure * factor(p, gamma)


ESTIMATOR = EstimatorKind(advantages, masses)

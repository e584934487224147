"""The control of A-GRAE that shifts weight to easy problems."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, _groups, base_masses, hard_focused, load_base


def advantages(
    rewards_PG: Tensor, *, gamma: float = 0.5, base: Base = "grpo", std: Std = "biased", epsilon: float = 1e-6
) -> Tensor:
    """Easy-focused (A-GRAE, sec. 4.1, Table 1b): gamma A / sqrt(1 - p), p the solve rate, for 0 < p < 1.

    gamma = 1/2 keeps the largest sum of |A| at GRPO's. Elsewhere nothing is rescaled; for binary rewards
    A is 0 there. Raises ValueError for gamma <= 0.
    """
    base_PG = load_base(base, std=std, epsilon=epsilon)(rewards_PG)
    return base_PG * hard_focused.factor(1 - _groups.solve_rate(rewards_PG), gamma)


def masses(p: Tensor, rollouts: int, *, gamma: float, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m_F = m gamma / sqrt(q); with GRPO sqrt(p) / 2"""
    success, failure = base_masses(p, rollouts, **base)
    return success * hard_focused.factor(1 - p, gamma), failure * hard_focused.factor(1 - p, gamma)


ESTIMATOR = EstimatorKind(advantages, masses)

"""The control of A-GRAE that scales positives down."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, positive_dominant


def advantages(
    rewards_PG: Tensor, *, beta: float = 10.0, base: Base = "grpo", std: Std = "biased", epsilon: float = 1e-6
) -> Tensor:
    """Negative-dominant group (A-GRAE, sec. 4.1, Table 1a): A / beta where A > 0, the base's A elsewhere.

    beta = 1 is the base. Raises ValueError for beta <= 0.
    """
    if beta <= 0:
        raise ValueError(f"beta must be positive: {beta}")
    return positive_dominant.advantages(rewards_PG, beta=1 / beta, base=base, std=std, epsilon=epsilon)


def masses(p: Tensor, rollouts: int, *, beta: float, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m / beta, m_F = m, m the base's mass (GRPO: sqrt(pq))"""
    return positive_dominant.masses(p, rollouts, beta=1 / beta, **base)


ESTIMATOR = EstimatorKind(advantages, masses)

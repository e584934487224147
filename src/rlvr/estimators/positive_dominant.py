"""The control of A-GRAE that scales positives up."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor, *, beta: float = 10.0, base: Base = "grpo", std: Std = "biased", epsilon: float = 1e-6
) -> Tensor:
    """Positive-dominant group (A-GRAE, sec. 4.1, Table 1a): A * beta where A > 0, the base's A elsewhere.

    beta = 1 is the base. Raises ValueError for beta <= 0.
    """
    if beta <= 0:
        raise ValueError(f"beta must be positive: {beta}")
    base_PG = load_base(base, std=std, epsilon=epsilon)(rewards_PG)
    return torch.where(base_PG > 0, base_PG * beta, base_PG)


def masses(p: Tensor, rollouts: int, *, beta: float, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m beta, m_F = m, m the base's mass (GRPO: sqrt(pq))"""
    success, failure = base_masses(p, rollouts, **base)
    return success * beta, failure


ESTIMATOR = EstimatorKind(advantages, masses)

"""RLOO: each reward against the mean of the others."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """Leave-one-out advantage (Ahmadian et al. 2024): A_i = r_i - mean of r_j over j != i.

    Equals G / (G - 1) times Dr.GRPO's. Raises ValueError for groups of one.
    """
    rollouts = rewards_PG.shape[1]
    if rollouts < 2:
        raise ValueError("RLOO needs at least two rollouts a prompt")
    others_PG = (rewards_PG.sum(dim=1, keepdim=True) - rewards_PG) / (rollouts - 1)
    return rewards_PG - others_PG


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = m_F = pq G / (G - 1)"""
    mass = p * (1 - p) * rollouts / (rollouts - 1)
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

"""The group's lowest reward as baseline."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """Lowest reward as offset (FADE, sec. 8.5, which names Garg and Venkatesh 2025): A = r - min(r) over the group.

    FADE gives no formula. Garg and Venkatesh (CoRPO) have a threshold in the baseline in its place, of graded rewards.
    For binary rewards it is REINFORCE, but that a group all right gets zeros.
    """
    return rewards_PG - rewards_PG.min(dim=1, keepdim=True).values


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = p where p < 1, else 0; m_F = 0"""
    return p * (p < 1), 0 * p


ESTIMATOR = EstimatorKind(advantages, masses)

"""Dr.GRPO: rewards centred within their group."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """Centred advantage (Liu et al. 2025, "Dr. GRPO"; FADE, sec. 2.2): A = r - mean(r)."""
    return rewards_PG - rewards_PG.mean(dim=1, keepdim=True)


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = m_F = pq"""
    return p * (1 - p), p * (1 - p)


ESTIMATOR = EstimatorKind(advantages, masses)

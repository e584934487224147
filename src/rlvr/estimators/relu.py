"""The positive part of a centred reward."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor) -> Tensor:
    """ReLU advantage (Srinivasan et al. 2018; FADE, sec. 8.11): A = max(0, r - mean(r))."""
    return _groups.centred(rewards_PG).clamp(min=0)


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = pq, m_F = 0"""
    return p * (1 - p), 0 * p


ESTIMATOR = EstimatorKind(advantages, masses)

"""Skew-R: the product of GRPO's two normalisations."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor) -> Tensor:
    """Skew-R (Thrampoulidis et al. 2025; FADE, sec. 8.1): A = (r - mean(r)) std(r), std over G.

    `power_norm` with gamma = -1/2: groups of mixed outcome count most.
    """
    return _groups.centred(rewards_PG) * rewards_PG.std(dim=1, keepdim=True, correction=0)


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = m_F = (pq)^(3/2)"""
    mass = (p * (1 - p)) ** 1.5
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

"""MaxRL: the maximum-likelihood weight."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor, *, epsilon: float = 0.0) -> Tensor:
    """MaxRL (Tajwar et al. 2026; FADE, sec. 8.3): A = (r - mean(r)) / (mean(r) + epsilon).

    The sum of Dr.GRPO over an endless row of retries of failures: q = pq + pq^2 + ... The paper has no epsilon,
    its code 1e-6. A group all wrong gets zeros, as does one whose mean a length penalty takes to zero or below.
    """
    mean_P1 = _groups.mean(rewards_PG)
    positive_P1 = torch.where(mean_P1 > 0, mean_P1 + epsilon, 0.0)
    return _groups.divide(rewards_PG - mean_P1, positive_P1)


def masses(p: Tensor, rollouts: int, *, epsilon: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = q"""
    mass = _groups.divide(p * (1 - p), p + epsilon)
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses, rate=True)

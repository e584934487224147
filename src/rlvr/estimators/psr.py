"""Positive-sample reinforcement."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor) -> Tensor:
    """Positive-sample reinforcement (Zhu et al. 2025, "RLVR decomposed"): A = 1 if correct, else 0.

    The released code drops the other class before the update, which is this weight up to the batch size.
    """
    return _groups.correct(rewards_PG).to(rewards_PG.dtype)


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = p, m_F = 0"""
    return p, 0 * p


ESTIMATOR = EstimatorKind(advantages, masses)

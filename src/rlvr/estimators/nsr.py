"""Negative-sample reinforcement."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor) -> Tensor:
    """Negative-sample reinforcement (Zhu et al. 2025, "RLVR decomposed"): A = -1 if wrong, else 0.

    The only one of these weights that is largest where every rollout is wrong: no baseline is subtracted.
    """
    return _groups.correct(rewards_PG).to(rewards_PG.dtype) - 1


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = 0, m_F = q"""
    return 0 * p, 1 - p


ESTIMATOR = EstimatorKind(advantages, masses)

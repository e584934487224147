"""REINFORCE: the reward itself."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """The reward as weight (Williams 1992; FADE, sec. 2): A = r.

    Any rewards. Only correct rollouts count where the reward is 0 or 1.
    """
    return rewards_PG.clone()


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = p, m_F = 0"""
    return p, 0 * p


ESTIMATOR = EstimatorKind(advantages, masses, critic=True)

"""Binary contrastive weight."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor) -> Tensor:
    """Binary contrastive weight (Greensmith et al. 2004; FADE, sec. 8.7): A = 1 if correct, -p / (1 - p) if wrong.

    Also LENS with the policy itself as preference function (LENS, App. C). Rewards are read as classes.
    """
    right_PG, p_P1 = _groups.correct(rewards_PG), _groups.solve_rate(rewards_PG)
    return torch.where(right_PG, torch.ones_like(rewards_PG), -_groups.divide(p_P1, 1 - p_P1))


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = p, m_F = p (0 where p = 1)"""
    return p, torch.where(p < 1, p, 0 * p)


ESTIMATOR = EstimatorKind(advantages, masses)

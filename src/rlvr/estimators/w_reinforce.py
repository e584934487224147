"""W-REINFORCE: positive samples weighted down against negative ones."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor, *, lam: float = 0.1) -> Tensor:
    """Weighted REINFORCE (Zhu et al. 2025; A-GRAE, Table 2): A = lam if correct, -1 if wrong; no group baseline.

    lam = 0.1 is the value that Zhu et al. state; their configuration's default is 1. lam = 0 is `nsr`.
    """
    one = torch.ones_like(rewards_PG)
    return torch.where(_groups.correct(rewards_PG), lam * one, -one)


def masses(p: Tensor, rollouts: int, *, lam: float) -> tuple[Tensor, Tensor]:
    """m_S = lam p, m_F = q"""
    return lam * p, 1 - p


ESTIMATOR = EstimatorKind(advantages, masses)

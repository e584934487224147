"""AsymRL: a shifted baseline."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor, *, delta: float = 0.01) -> Tensor:
    """Shifted baseline (Arnal et al. 2026; FADE, sec. 8.5): A = r - (mean(r) + delta).

    delta = 0 is Dr.GRPO; delta > 0 favours failures and reaches unanimous groups: m_F - m_S = delta. The default is
    the value in FADE; public code of asymmetric REINFORCE has the opposite sign (a shift of -0.1).
    """
    return _groups.centred(rewards_PG) - delta


def masses(p: Tensor, rollouts: int, *, delta: float) -> tuple[Tensor, Tensor]:
    """m_S = p (q - delta), m_F = q (p + delta)"""
    return p * (1 - p - delta), (1 - p) * (p + delta)


ESTIMATOR = EstimatorKind(advantages, masses)

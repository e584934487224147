"""F-GRPO: GRPO with less weight on groups that are mostly right."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Std, Tensor, _groups, grpo
from rlvr.estimators.power_alpha import power


def advantages(rewards_PG: Tensor, *, gamma: float = 1.0, std: Std = "biased", epsilon: float = 1e-6) -> Tensor:
    """Focal weighting (F-GRPO, Plyusov et al. 2026): A = (1 - p)^gamma A_GRPO, p the group's share of correct rollouts.

    gamma = 0 is GRPO; the default of 1 is ours. `power_alpha` at alpha = 1 + gamma is the same factor on Dr.GRPO. A
    group all right gets zeros. Raises ValueError for gamma < 0.
    """
    if gamma < 0:
        raise ValueError(f"gamma must not be negative: {gamma}")
    wrong_P1 = 1 - _groups.solve_rate(rewards_PG)
    return grpo.advantages(rewards_PG, std=std, epsilon=epsilon) * power(wrong_P1, gamma)


def masses(p: Tensor, rollouts: int, *, gamma: float, std: str, epsilon: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = sqrt(pq) q^gamma"""
    mass = grpo.masses(p, rollouts, std=std, epsilon=epsilon)[0] * (1 - p) ** gamma
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

"""A mix of pass@1 and pass@k advantages, by the solve rate."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, pass_at_k


def advantages(rewards_PG: Tensor, *, k: int = 2) -> Tensor:
    """Adaptive mix (Chen et al. 2025; FADE, sec. 8.4.3): A = p A_pass@k + (1 - p) A_pass@1, both as in `pass_at_k`.

    k = 1 is GRPO. Raises ValueError unless 1 <= k <= G.
    """
    p_P1 = _groups.solve_rate(rewards_PG)
    wide, narrow = pass_at_k.advantages(rewards_PG, k=k), pass_at_k.advantages(rewards_PG, k=1)
    return p_P1 * wide + (1 - p_P1) * narrow


def masses(p: Tensor, rollouts: int, *, k: int) -> tuple[Tensor, Tensor]:
    """m_S = m_F = p (p A_k + q A_1), A_k = sqrt((1 - R_k) / R_k)"""
    wide, narrow = pass_at_k.masses(p, rollouts, k=k)[0], pass_at_k.masses(p, rollouts, k=1)[0]
    mass = p * wide + (1 - p) * narrow
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

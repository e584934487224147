"""PowerNorm: centred rewards over a power of their variance."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor, *, gamma: float = 0.25) -> Tensor:
    """PowerNorm (Andrychowicz et al. 2021; FADE, sec. 8.8): A = (r - m) / (m (1 - m))^gamma, m the group's mean.

    gamma = 1/2 is GRPO, 0 Dr.GRPO, 1 the same mass for every mixed group, -1/2 Skew-R. The default, ours, lies between
    the first two. Zero where m is not inside (0, 1).
    """
    mean_P1 = _groups.mean(rewards_PG)
    variance_P1 = (mean_P1 * (1 - mean_P1)).clamp(min=0)
    return _groups.divide((rewards_PG - mean_P1) * variance_P1 ** (1 - gamma), variance_P1)


def masses(p: Tensor, rollouts: int, *, gamma: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = (pq)^(1 - gamma)"""
    mass = _groups.masked(p, (p * (1 - p)) ** (1 - gamma))
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses, rate=True)

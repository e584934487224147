"""Asymmetric power-alpha: a difficulty focus for each sign."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch
from rlvr.estimators.power_alpha import power


def advantages(rewards_PG: Tensor, *, alpha_s: float = 2.0, alpha_f: float = 1.0) -> Tensor:
    """Asymmetric power-alpha (FADE, sec. 8.2): A = (r - m) (1 - m)^(alpha_s - 1), (r - m) m^(alpha_f - 1) where r < m.

    alpha_s = alpha_f = 1 is Dr.GRPO. The paper gives no values; the default keeps Dr.GRPO's negatives and power 2's
    positives, which is the failure-biased side that sec. 4.2 describes. Raises ValueError for a value <= 0.
    """
    if min(alpha_s, alpha_f) <= 0:
        raise ValueError(f"alpha_s and alpha_f must be positive: {alpha_s}, {alpha_f}")
    mean_P1 = _groups.mean(rewards_PG)
    centred_PG = rewards_PG - mean_P1
    return centred_PG * torch.where(centred_PG < 0, power(mean_P1, alpha_f - 1), power(1 - mean_P1, alpha_s - 1))


def masses(p: Tensor, rollouts: int, *, alpha_s: float, alpha_f: float) -> tuple[Tensor, Tensor]:
    """m_S = p q^alpha_s, m_F = p^alpha_f q"""
    return p * (1 - p) ** alpha_s, p**alpha_f * (1 - p)


ESTIMATOR = EstimatorKind(advantages, masses, rate=True)

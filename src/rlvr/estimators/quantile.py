"""A quantile of the group as baseline."""

from __future__ import annotations

from math import ceil

from rlvr.estimators import EstimatorKind, Tensor, torch


def advantages(rewards_PG: Tensor, *, tau: float = 0.5) -> Tensor:
    """Quantile baseline (Dabney et al. 2018; FADE, sec. 8.6): A = r - Q_tau(r).

    Q is the inverse of the distribution function, the smallest reward that a share tau of the group does not exceed.
    For binary rewards Q = 0 if and only if p <= 1 - tau: hard problems learn only from successes, easy ones only from
    failures. FADE writes p <= tau, which agrees at tau = 1/2 only. Raises ValueError unless 0 < tau <= 1.
    """
    return rewards_PG - baseline(rewards_PG, tau)


def baseline(rewards_PG: Tensor, tau: float) -> Tensor:
    """The smallest reward that at least a share tau of the group does not exceed (P, 1)."""
    if not 0 < tau <= 1:
        raise ValueError(f"tau must be in (0, 1]: {tau}")
    place = max(1, ceil(tau * rewards_PG.shape[1] - 1e-9))
    return rewards_PG.kthvalue(place, dim=1, keepdim=True).values


def masses(p: Tensor, rollouts: int, *, tau: float) -> tuple[Tensor, Tensor]:
    """m_S = p where p <= 1 - tau, else 0; m_F = q where p > 1 - tau, else 0"""
    hard = p <= 1 - tau + 1e-9
    return torch.where(hard, p, 0 * p), torch.where(hard, 0 * p, 1 - p)


ESTIMATOR = EstimatorKind(advantages, masses)

"""AsymGRPO: the negative side rescaled."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor, *, delta: float = 0.5) -> Tensor:
    """AsymGRPO (FADE, sec. 8.2): A = r - mean(r), divided by delta where A < 0.

    delta = 1 is Dr.GRPO, delta < 1 favours failures (0.5 is the paper's Figure 3), delta > 1 successes. Raises
    ValueError for delta <= 0.
    """
    if delta <= 0:
        raise ValueError(f"delta must be positive: {delta}")
    centred_PG = _groups.centred(rewards_PG)
    return torch.where(centred_PG < 0, centred_PG / delta, centred_PG)


def masses(p: Tensor, rollouts: int, *, delta: float) -> tuple[Tensor, Tensor]:
    """m_S = pq, m_F = pq / delta"""
    return p * (1 - p), p * (1 - p) / delta


ESTIMATOR = EstimatorKind(advantages, masses)

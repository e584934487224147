"""Pass@k training by leave-one-out: what a rollout adds to its group's best."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """Leave-one-out pass@k advantage (Tang et al. 2025; FADE, sec. 8.4.1): A_i = max(r) - max(r without i), k = G.

    The sole success of a group gets 1, every other rollout 0; for other rewards the best gets its margin. Summed over
    the group, the expected mass is k p q^(k - 1).
    """
    if rewards_PG.shape[1] < 2:
        raise ValueError("leave-one-out needs at least two rollouts a prompt")
    best_P2 = rewards_PG.topk(2, dim=1).values
    margin_P1 = best_P2[:, :1] - best_P2[:, 1:]
    return (rewards_PG == best_P2[:, :1]).to(rewards_PG.dtype) * margin_P1


def masses(p: Tensor, rollouts: int) -> tuple[Tensor, Tensor]:
    """m_S = 1/G where p = 1/G, else 0; m_F = 0"""
    return ((p * rollouts).round() == 1).to(p.dtype) / rollouts, 0 * p


ESTIMATOR = EstimatorKind(advantages, masses)

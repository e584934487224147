"""Pass@k training by leave-one-out: what a rollout adds to its group's best."""

from __future__ import annotations

from math import comb

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor, *, k: int | None = None) -> Tensor:
    """Leave-one-out pass@k advantage (Tang et al. 2025; FADE, sec. 8.4.1): A_i = max(r) - max(r without i).

    With k null, of the whole group: the sole success gets 1, every other rollout 0; for other rewards the best gets its
    margin. With k it is the mean over all batches of k rollouts of the group that hold i ("the sole success in a batch
    of eight", FADE sec. 1): a correct rollout gets C(F, k - 1) / C(G - 1, k - 1) with F failures, and rewards are read
    as classes. Summed over k rollouts, the expected mass is k p q^(k - 1). Raises ValueError unless 2 <= k <= G.
    """
    rollouts = rewards_PG.shape[1]
    if k is not None:
        right_PG = _groups.correct(rewards_PG).to(rewards_PG.dtype)
        sole_F = torch.tensor(sole(rollouts, k), dtype=rewards_PG.dtype, device=rewards_PG.device)
        failures_P1 = rollouts - right_PG.sum(dim=1, keepdim=True)
        return sole_F[failures_P1.long()] * right_PG
    if rollouts < 2:
        raise ValueError("leave-one-out needs at least two rollouts a prompt")
    best_P2 = rewards_PG.topk(2, dim=1).values
    margin_P1 = best_P2[:, :1] - best_P2[:, 1:]
    return (rewards_PG == best_P2[:, :1]).to(rewards_PG.dtype) * margin_P1


def sole(rollouts: int, k: int) -> list[float]:
    """For 0 to G failures, the chance that k - 1 others of a correct rollout's group are all wrong."""
    if not 2 <= k <= rollouts:
        raise ValueError(f"k must be between 2 and the {rollouts} rollouts of a group: {k}")
    return [comb(failures, k - 1) / comb(rollouts - 1, k - 1) for failures in range(rollouts)] + [0.0]


def masses(p: Tensor, rollouts: int, *, k: int | None) -> tuple[Tensor, Tensor]:
    """m_S = p C(F, k - 1) / C(G - 1, k - 1), k = G where it is null; m_F = 0"""
    failures = ((1 - p) * rollouts).round().long()
    return p * torch.tensor(sole(rollouts, k or rollouts), dtype=p.dtype)[failures], 0 * p


ESTIMATOR = EstimatorKind(advantages, masses, later=("k",))

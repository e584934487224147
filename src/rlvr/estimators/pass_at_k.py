"""Pass@k training: the analytic advantage of Chen et al."""

from __future__ import annotations

from math import comb

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(rewards_PG: Tensor, *, k: int = 2) -> Tensor:
    """Analytic pass@k advantage (Chen et al. 2025; FADE, sec. 8.4.2): A = Q (r - p) / sigma_k.

    Of G rollouts F are wrong; R_k = 1 - C(F, k) / C(G, k), sigma_k = sqrt(R_k (1 - R_k)) and
    Q = C(F - 1, k - 1) / C(G - 1, k - 1), so that a correct rollout gets (1 - R_k) / sigma_k. k = 1 is GRPO. Zero
    where every k-subset has the same outcome. Rewards are read as classes. Raises ValueError unless 1 <= k <= G.
    """
    right_PG = _groups.correct(rewards_PG).to(rewards_PG.dtype)
    rollouts = rewards_PG.shape[1]
    factor_F = torch.tensor(factors(rollouts, k), dtype=rewards_PG.dtype, device=rewards_PG.device)
    failures_P1 = rollouts - right_PG.sum(dim=1, keepdim=True)
    return factor_F[failures_P1.long()] * _groups.centred(right_PG)


def factors(rollouts: int, k: int) -> list[float]:
    """Q / sigma_k for 0 to G failures, from exact binomials."""
    if not 1 <= k <= rollouts:
        raise ValueError(f"k must be between 1 and the {rollouts} rollouts of a group: {k}")
    found = []
    for failures in range(rollouts + 1):
        fail = comb(failures, k) / comb(rollouts, k)
        q = comb(failures - 1, k - 1) / comb(rollouts - 1, k - 1) if failures else 0.0
        found.append(q / (fail * (1 - fail)) ** 0.5 if 0 < fail < 1 else 0.0)
    return found


def masses(p: Tensor, rollouts: int, *, k: int) -> tuple[Tensor, Tensor]:
    """m_S = m_F = p sqrt((1 - R_k) / R_k), R_k = 1 - C(F, k) / C(G, k)"""
    failures = ((1 - p) * rollouts).round().long()
    fail = torch.tensor([comb(int(f), k) / comb(rollouts, k) for f in failures.tolist()], dtype=p.dtype)
    mass = p * _groups.divide(fail, 1 - fail).sqrt()
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

"""LogMeanExp: what a rollout adds to a soft maximum of its group."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, torch


def advantages(rewards_PG: Tensor, *, beta: float = 1.0) -> Tensor:
    """Leave-one-out of a soft maximum (Jiang et al. 2025; FADE, sec. 8.9): A_i = lme(r) - lme(r without i).

    lme(r) = log(mean(exp(beta r))) / beta, over G and over G - 1 rewards. beta -> 0 is RLOO / G = Dr.GRPO / (G - 1),
    beta -> infinity Tang's pass@k with k = G. FADE's masses leave out that the normaliser changes from G to G - 1;
    `masses` is exact. Raises ValueError for beta <= 0 and groups of one.
    """
    rollouts = rewards_PG.shape[1]
    if beta <= 0 or rollouts < 2:
        raise ValueError(f"LogMeanExp needs beta > 0 and at least two rollouts a prompt: {beta}, {rollouts}")
    scaled_PG = beta * rewards_PG
    largest_P1, place_P1 = scaled_PG.max(dim=1, keepdim=True)
    excess_PG = torch.expm1(scaled_PG - largest_P1)  # in [-1, 0]; small differences keep their digits
    mean_P1 = excess_PG.mean(dim=1, keepdim=True)
    without_PG = 1 + (rollouts * mean_P1 - excess_PG) / (rollouts - 1)
    gain_PG = torch.log1p((excess_PG - mean_P1) / (rollouts - 1) / without_PG)
    # Without a largest reward far above the others, what is left is a sum of their own small terms.
    others_PG = scaled_PG.scatter(1, place_P1, float("-inf"))
    second_P1 = others_PG.amax(dim=1, keepdim=True)
    rest_P1 = (others_PG - second_P1).exp().sum(dim=1, keepdim=True)
    alone_P1 = torch.log1p(mean_P1) - (second_P1 - largest_P1) - (rest_P1 / (rollouts - 1)).log()
    far_P1 = second_P1 < largest_P1 - 1
    gain_PG = gain_PG.scatter(1, place_P1, torch.where(far_P1, alone_P1, gain_PG.gather(1, place_P1)))
    return gain_PG / beta


def masses(p: Tensor, rollouts: int, *, beta: float) -> tuple[Tensor, Tensor]:
    """m_S = p (log(1 + (e^beta - 1) p) - log(1 + (e^beta - 1) (Gp - 1) / (G - 1))) / beta; m_F likewise"""
    grow = torch.expm1(torch.tensor(beta, dtype=p.dtype))
    whole = torch.log1p(grow * p)
    success = whole - torch.log1p(grow * ((rollouts * p - 1).clamp(min=0) / (rollouts - 1)))
    failure = whole - torch.log1p(grow * (rollouts * p / (rollouts - 1)).clamp(max=1))
    return p * success / beta, -(1 - p) * failure / beta


ESTIMATOR = EstimatorKind(advantages, masses)

"""GRPO: rewards centred and scaled within their group."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Std, Tensor, _groups


def advantages(rewards_PG: Tensor, *, std: Std = "biased", epsilon: float = 1e-6) -> Tensor:
    """Group-normalised advantage (Shao et al. 2024; ACE, Eq. 1): A = (r - mean(r)) / (std(r) + epsilon).

    `std` divides the squared deviations by G (`biased`, ACE sec. 3, the default because it is the
    definition in print) or by G - 1 (`unbiased`, ACE App. C's sketch and verl's code); for binary rewards
    unbiased advantages are sqrt((G - 1) / G) times the biased ones. A group of equal rewards gets zeros.
    Raises ValueError for a negative epsilon.
    """
    if epsilon < 0 or (std == "unbiased" and rewards_PG.shape[1] < 2):
        raise ValueError(f"needs epsilon >= 0, and two rollouts for the unbiased std: {epsilon}, {rewards_PG.shape[1]}")
    centred_PG = rewards_PG - rewards_PG.mean(dim=1, keepdim=True)
    spread_P1 = rewards_PG.std(dim=1, keepdim=True, correction=0 if std == "biased" else 1)
    # Equal rewards can have a mean that differs from them in the last bit, and a std that is this difference.
    equal_P1 = rewards_PG.amax(dim=1, keepdim=True) == rewards_PG.amin(dim=1, keepdim=True)
    return centred_PG / (spread_P1 + epsilon).masked_fill(equal_P1, float("inf"))


def masses(p: Tensor, rollouts: int, *, std: str, epsilon: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = sqrt(pq)"""
    spread = (p * (1 - p) * (1 if std == "biased" else rollouts / (rollouts - 1))).sqrt()
    mass = _groups.divide(p * (1 - p), spread + epsilon)
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

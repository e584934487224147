"""MC-GRPO: the group's median as centre."""

from __future__ import annotations

from typing import Literal

from rlvr.estimators import EstimatorKind, Tensor, quantile


def advantages(rewards_PG: Tensor, *, scale: Literal["none", "mad"] = "none", epsilon: float = 1e-3) -> Tensor:
    """Median-centred advantage (Kim 2026; FADE, sec. 8.6): A = r - median(r); `quantile` at tau = 1/2.

    That is FADE's form, the default because its masses are derived from it. The released code divides by the median
    absolute deviation plus epsilon (`scale="mad"`); with binary rewards and a majority the deviation is zero, so that
    |A| = 1 / epsilon = 1000 on the minority. It also samples one rollout more than G and leaves the median one out,
    whose A is 0: a matter of sampling, not of the weight. Raises ValueError for epsilon <= 0.
    """
    if epsilon <= 0:
        raise ValueError(f"epsilon must be positive: {epsilon}")
    median_P1 = quantile.baseline(rewards_PG, 0.5)
    centred_PG = rewards_PG - median_P1
    if scale == "mad":
        centred_PG = centred_PG / (quantile.baseline(centred_PG.abs(), 0.5) + epsilon)
    return centred_PG


def masses(p: Tensor, rollouts: int, *, scale: str, epsilon: float) -> tuple[Tensor, Tensor]:
    """m_S = p where p <= 1/2, else 0; m_F = q where p > 1/2, else 0"""
    success, failure = quantile.masses(p, rollouts, tau=0.5)
    factor = 1 / epsilon if scale == "mad" else 1.0  # at p = 1/2 the minority's deviation is 0 too: Q is the lower one
    return success * factor, failure * factor


ESTIMATOR = EstimatorKind(
    advantages, masses, exact={}
)  # epsilon is no guard of a division here: it is the scale of the weight

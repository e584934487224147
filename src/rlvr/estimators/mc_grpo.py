"""MC-GRPO: the group's median as centre."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from rlvr.estimators import quantile


def advantages(
    rewards_PG: Tensor, *, scale: Literal["none", "mad"] = "none", drop_median: bool = False, epsilon: float = 1e-3
) -> Tensor:
    """Median-centred advantage (Kim 2026; FADE, sec. 8.6): A = r - median(r); `quantile` at tau = 1/2.

    That is FADE's form, the default because its masses are derived from it. The released code divides by the median
    absolute deviation plus epsilon (`scale="mad"`), samples one rollout more than G and leaves the median one out
    (`drop_median`: its weight is zero here). With binary rewards and a majority the deviation is zero, so that
    |A| = 1 / epsilon = 1000 on the minority.
    """
    median_P1 = quantile.baseline(rewards_PG, 0.5)
    centred_PG = rewards_PG - median_P1
    if scale == "mad":
        centred_PG = centred_PG / (quantile.baseline(centred_PG.abs(), 0.5) + epsilon)
    if drop_median:  # a median rollout has A = 0 unless the group is even and the median lies between
        at_median_PG = rewards_PG == median_P1
        first_PG = at_median_PG & (at_median_PG.cumsum(dim=1) == 1)
        centred_PG = torch.where(first_PG, torch.zeros_like(centred_PG), centred_PG)
    return centred_PG


def masses(
    p: Tensor, groups: int, *, scale: Literal["none", "mad"] = "none", drop_median: bool = False, epsilon: float = 1e-3
) -> tuple[Tensor, Tensor]:
    """m_S = p where p <= 1/2, else 0; m_F = q where p > 1/2, else 0"""
    success, failure = quantile.masses(p, groups, tau=0.5)
    factor = 1 / epsilon if scale == "mad" else 1.0  # at p = 1/2 the minority's deviation is 0 too: Q is the lower one
    return success * factor, failure * factor

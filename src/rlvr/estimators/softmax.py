"""Softmax over the group's rewards."""

from __future__ import annotations

from math import expm1
from typing import Literal

from rlvr.estimators import EstimatorKind, Tensor, torch


def advantages(rewards_PG: Tensor, *, beta: float = 1.0, scale: Literal["none", "group"] = "none") -> Tensor:
    """Softmax advantage (Shao et al. 2024; FADE, sec. 8.9): A_i = exp(beta r_i) / sum_j exp(beta r_j) - 1/G.

    As printed A is of order 1/G, and the masses that FADE states are G times its own (`scale="group"` multiplies by
    G). beta -> 0 is beta times Dr.GRPO, beta -> infinity is MaxRL, both after scaling by the group.
    """
    rollouts = rewards_PG.shape[1]
    factor = rollouts if scale == "group" else 1
    return factor * (torch.softmax(beta * rewards_PG, dim=1) - 1 / rollouts)


def masses(p: Tensor, rollouts: int, *, beta: float, scale: str) -> tuple[Tensor, Tensor]:
    """m_S = m_F = (e^beta - 1) pq / (1 + p (e^beta - 1)) / G"""
    mass = expm1(beta) * p * (1 - p) / (1 + p * expm1(beta))
    mass = mass if scale == "group" else mass / rollouts
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)

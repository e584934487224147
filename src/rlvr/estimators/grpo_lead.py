"""GRPO-LEAD: GRPO with a weight that grows on hard problems."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import EstimatorKind, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(rewards_PG: Tensor, *, std: Std = "biased", epsilon: float = 1e-6) -> Tensor:
    """Difficulty-aware GRPO (Zhang and Zuo 2025; A-GRAE, Table 2): A w(p) where A > 0, A w(1 - p) where A < 0.

    w(x) = 0.4 + 1.1 / (1 + exp(10 (x - 0.75))), p the solve rate, A the GRPO advantage (released code). The
    method's length-dependent reward is a reward and no part of the weight; its code applies it only where the
    three shortest correct responses are longer than 4,000 tokens on average. `std` as in `grpo`; their code is
    unbiased.
    """
    base_PG, p_P1 = load_base("grpo", std=std, epsilon=epsilon)(rewards_PG), _groups.solve_rate(rewards_PG)
    return base_PG * torch.where(base_PG > 0, weight(p_P1), weight(1 - p_P1))


def weight(x: Tensor) -> Tensor:
    """1.5 on the hardest problems, 0.95 at 0.75, 0.48 on solved ones."""
    return 0.4 + 1.1 / (1 + torch.exp(10 * (x - 0.75)))


def masses(p: Tensor, rollouts: int, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = sqrt(pq) w(p), m_F = sqrt(pq) w(q), w(x) = 0.4 + 1.1 / (1 + exp(10 (x - 0.75)))"""
    mass, _ = base_masses(p, rollouts, base="grpo", **base)
    return mass * weight(p), mass * weight(1 - p)


ESTIMATOR = EstimatorKind(advantages, masses)

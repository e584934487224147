"""HA-DW: a weight that follows how a group fares against the run's history."""

from __future__ import annotations

from typing import Any

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor,
    *,
    anchor: float,
    base: Base = "grpo",
    lam: float = 1.5,
    std: Std = "biased",
    epsilon: float = 1e-6,
) -> Tensor:
    """History-aware weight (Yang et al. 2026; FADE, sec. 8.10): A lam exp(-sgn(A) sgn(m - C) |m - C|).

    m is the group's mean, C (`anchor`) a running mean of earlier rewards, the controller's state. On groups that fare
    better than it, positives shrink and negatives grow. lam = 1.5 and the base GRPO are the released code's; FADE's
    masses have Dr.GRPO as base and leave out the factor on the negative side, which the formula has.
    """
    if lam <= 0:
        raise ValueError(f"lam must be positive: {lam}")
    base_PG = load_base(base, std=std, epsilon=epsilon)(rewards_PG)
    above_P1 = _groups.mean(rewards_PG) - anchor
    return base_PG * lam * torch.exp(-torch.sign(base_PG) * above_P1)


def controller(state: dict[str, float], rewards_PG: Tensor, *, rate: float = 0.1) -> dict[str, float]:
    """C before this step: the first step's own mean, later moved by `rate` (ours: FADE says "a running baseline")."""
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1]: {rate}")
    now = float(rewards_PG.mean())
    anchor = state.get("next_anchor", now)
    return {"anchor": anchor, "next_anchor": anchor + rate * (now - anchor)}


def masses(p: Tensor, rollouts: int, *, anchor: float = 0.5, lam: float, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m lam e^(C - p), m_F = m lam e^(p - C), m the base's mass"""
    success, failure = base_masses(p, rollouts, **base)
    return success * lam * torch.exp(anchor - p), failure * lam * torch.exp(p - anchor)


ESTIMATOR = EstimatorKind(advantages, masses, controller=controller, rate=True)

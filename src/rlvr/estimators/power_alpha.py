"""Power-alpha: difficulty focus, the two signs in balance."""

from __future__ import annotations

from typing import Literal

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch


def advantages(
    rewards_PG: Tensor,
    *,
    alpha: float = 2.0,
    scale: Literal["none", "peak"] = "none",
    focus: Literal["hard", "easy"] = "hard",
) -> Tensor:
    """Power-alpha (FADE, sec. 8.2): A = (r - mean(r)) (1 - mean(r))^(alpha - 1).

    alpha = 1 is Dr.GRPO; larger values move the mode to 1 / (1 + alpha), smaller ones towards solved problems.
    `scale="peak"` multiplies by C = (1 + alpha)^(1 + alpha) / (4 alpha^alpha), so that the largest mass is
    Dr.GRPO's 1/4 (sec. 4.3, Eq. 27); `none`, the form of sec. 8.2 and of Algorithm 1, is the default.
    `focus="easy"` is the counterpart of sec. 4.3, mean(r)^(alpha - 1) instead of (1 - mean(r))^(alpha - 1), of mode
    alpha / (1 + alpha). A group all right gets zeros. Raises ValueError for alpha <= 0.
    """
    mean_P1 = _groups.mean(rewards_PG)
    rate_P1 = 1 - mean_P1 if focus == "hard" else mean_P1
    return (rewards_PG - mean_P1) * power(rate_P1, alpha - 1) * peak(alpha, scale)


def power(base: Tensor, exponent: float) -> Tensor:
    """base^exponent, base kept in [0, 1]; zero for a negative power of zero, where the centred reward is zero too."""
    if exponent == 0:
        return torch.ones_like(base)
    raised = base.clamp(0, 1) ** exponent
    return raised if exponent > 0 else torch.where(base > 0, raised, 0.0)


def peak(alpha: float, scale: str) -> float:
    if alpha <= 0:
        raise ValueError(f"alpha must be positive: {alpha}")
    return (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha) if scale == "peak" else 1.0


def masses(p: Tensor, rollouts: int, *, alpha: float, scale: str, focus: str) -> tuple[Tensor, Tensor]:
    """m_S = m_F = p q^alpha; with focus on easy prompts p^alpha q"""
    mass = (p * (1 - p) ** alpha if focus == "hard" else p**alpha * (1 - p)) * peak(alpha, scale)
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses, later=("focus",), rate=True)

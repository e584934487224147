"""A-GRAE: from easy to hard problems, and from negative to balanced groups, as the mean reward grows."""

from __future__ import annotations

from typing import Any, Literal

from rlvr.estimators import Base, EstimatorKind, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor,
    *,
    omega: float,
    alpha: float = 1.0,
    levels: Literal["both", "group", "sample"] = "both",
    base: Base = "grpo",
    easy: Literal["paper", "code"] = "paper",
    std: Std = "biased",
    epsilon: float = 1e-6,
    rate: Literal["correct", "reward"] = "correct",
) -> Tensor:
    """Asymmetric group-relative advantage (A-GRAE, Eq. 12-13): A s(p), x min(1, omega / alpha) where A > 0.

    s(p) = omega / (2 sqrt(p)) + (1 - omega) / (2 sqrt(1 - p)).

    A is the base estimator's, p the solve rate and omega the mean reward of the step's whole batch (Eq. 11), the
    controller's state. `levels` keeps the sample level (Eq. 12) or the group level (Eq. 13) only (Table 5). alpha is
    1 for text and 0.5 for images in the paper. `easy="code"` replaces 1 / (2 sqrt(1 - p)) by 1 / (2 (1 - sqrt(p))),
    as in the released code (7.74 against 1.41 at p = 7/8). The equation is the default: in that code the branch of
    A-GRAE never runs, so its scripts train the base method (it asks for a weight of 2.0, and its schedule, counted
    from step 1, gives less at every step; config/papers/agrae/deviations.md). `std` as in `grpo`; their code is
    unbiased. `rate="reward"` takes the group's mean reward, kept in [0, 1], for p: where wrong responses too have a
    reward, for their form, all would count as correct. Raises ValueError unless 0 < alpha <= 1.
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must be in (0, 1]: {alpha}")
    weights_PG = load_base(base, std=std, epsilon=epsilon)(rewards_PG)
    if levels != "group":
        weights_PG = weights_PG * sample_factor(_rate(rewards_PG, rate), omega, easy)
    if levels != "sample":
        weights_PG = torch.where(weights_PG > 0, weights_PG * min(1.0, omega / alpha), weights_PG)
    return weights_PG


def _rate(rewards_PG: Tensor, rate: str) -> Tensor:
    return _groups.mean(rewards_PG).clamp(0, 1) if rate == "reward" else _groups.solve_rate(rewards_PG)


def sample_factor(p: Tensor, omega: float, easy: str) -> Tensor:
    """The factor of Eq. 12; 1 where p is 0 or 1, which the paper leaves out."""
    inside = (p > 0) & (p < 1)
    safe = torch.where(inside, p, torch.full_like(p, 0.5))
    easier = 1 - safe.sqrt() if easy == "code" else (1 - safe).sqrt()
    return torch.where(inside, 0.5 * (omega / safe.sqrt() + (1 - omega) / easier), torch.ones_like(p))


def controller(state: dict[str, float], rewards_PG: Tensor, *, fixed: float | None = None) -> dict[str, float]:
    """omega, the batch's mean reward; kept in [0, 1] for shaped rewards.

    `fixed` is a placebo (ours): omega is this constant, such as the mean that it has over a run, and steers nothing.
    """
    return {"omega": min(1.0, max(0.0, float(rewards_PG.mean()) if fixed is None else fixed))}


def masses(
    p: Tensor,
    rollouts: int,
    *,
    omega: float = 0.5,
    alpha: float,
    levels: str,
    easy: str,
    rate: str,
    **base: Any,
) -> tuple[Tensor, Tensor]:
    """m_F = m (omega / (2 sqrt(p)) + (1 - omega) / (2 sqrt(q))), m_S = m_F min(1, omega / alpha), m the base's mass"""
    success, failure = base_masses(p, rollouts, **base)
    sample = sample_factor(p, omega, easy) if levels != "group" else torch.ones_like(p)
    return success * sample * (min(1.0, omega / alpha) if levels != "sample" else 1.0), failure * sample


ESTIMATOR = EstimatorKind(advantages, masses, controller=controller, later=("rate", "fixed"), rate=True)

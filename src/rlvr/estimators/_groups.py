"""What several estimators ask of a group: its mean, its spread, which rollouts are correct."""

from __future__ import annotations

from rlvr.estimators._torch import Tensor, torch


def mean(rewards_PG: Tensor) -> Tensor:
    """(P, 1); the solve rate, for binary rewards."""
    return rewards_PG.mean(dim=1, keepdim=True)


def centred(rewards_PG: Tensor) -> Tensor:
    return rewards_PG - mean(rewards_PG)


def correct(rewards_PG: Tensor) -> Tensor:
    """Rewards as classes: correct above zero. A wrong rollout has 0 less a length penalty, a correct one 1 less it."""
    return rewards_PG > 0


def solve_rate(rewards_PG: Tensor) -> Tensor:
    """Share of correct rollouts (P, 1)."""
    return mean(correct(rewards_PG).to(rewards_PG.dtype))


def divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient, and zero where the denominator is zero."""
    safe = torch.where(denominator == 0, torch.ones_like(denominator), denominator)
    return torch.where(denominator == 0, torch.zeros_like(numerator), numerator / safe)


def quantiles(name: str, values: Tensor) -> dict[str, float | None]:
    """Median and 90 % quantile, as `<name>_q50` and `<name>_q90`; None without values."""
    return {f"{name}_q{round(100 * q)}": float(values.quantile(q)) if values.numel() else None for q in (0.5, 0.9)}


def of_next(values_PG: Tensor, chosen_PG: Tensor) -> Tensor:
    """Each chosen rollout's value is that of the next chosen one in its group, and the last one's that of the first."""
    order_PG = torch.argsort((~chosen_PG).to(torch.uint8), dim=1, stable=True)  # the chosen ones first, in their order
    counts_P1 = chosen_PG.sum(dim=1, keepdim=True).clamp(min=1)
    following_PG = order_PG.gather(1, chosen_PG.cumsum(dim=1) % counts_P1)
    return torch.where(chosen_PG, values_PG.gather(1, following_PG), values_PG)


def masked(p: Tensor, inside: Tensor) -> Tensor:
    """`inside` where 0 < p < 1, and zero in groups of equal rewards."""
    return torch.where((p > 0) & (p < 1), inside, torch.zeros_like(p))

"""FADE's own masses and controller (FADE, sec. 5 and 10)."""

import math

import torch

from rlvr.estimators import Estimator
from rlvr.theory._groups import class_masses, weigh
from rlvr.theory._tensors import float64, gap
from rlvr.theory.statement import Chapter, Finding, conditional, fails

section = Chapter("FADE")


@section.says(
    "Sec. 10", "two groups with p = 0.2 and 0.8, alpha = 2, delta = 0.5; the group's mean and the batch's as r_bar"
)
def fade_masses() -> Finding:
    """FADE's masses are p q^alpha and p q^alpha / delta, so that m_S / m_F = delta."""
    rewards = float64([[1.0, 0, 0, 0, 0], [1, 1, 1, 1, 0]])
    p = rewards.mean(1)

    def difference(baseline: str) -> float:
        weights = weigh("fade", rewards, state={"alpha": 2.0, "delta": 0.5}, baseline=baseline)
        mass_s, mass_f = class_masses(weights, rewards)
        return max(gap(mass_s, p * (1 - p) ** 2), gap(mass_f, p * (1 - p) ** 2 / 0.5))

    return conditional(
        difference("prompt"),
        difference("batch"),
        "r_bar is the prompt's mean; if B in Algorithms 1 and 2 is the whole batch, p = 0.2 in a batch of mean 0.5 "
        "has masses 0.05 and 0.40 and not 0.128 and 0.256",
    )


@section.says("Sec. 5 and 10, Algorithm 2", "the past's share after one step")
def moving_average() -> Finding:
    """p_hat and H_hat are smoothed moving averages (coefficient 0.02)."""
    first = Estimator("fade").step(torch.zeros(1, 4).double(), {"entropy": 1.0}, {})[1]
    kept = first["p_hat"] / 0.5
    return fails(
        1 - kept,
        f"p_hat <- 0.02 p_hat + 0.98 r_bar keeps {100 * kept:.0f} % of the past per step, a half-life of "
        f"{math.log(0.5) / math.log(0.02):.2f} steps",
        "with the coefficients exchanged, a half-life of 34 steps (`ema: smooth`)",
    )

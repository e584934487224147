"""LENS: errors are penalised by the confidence they were made with, and groups without a success still teach."""

from __future__ import annotations

from math import log
from typing import Literal

import torch
from torch import Tensor

from rlvr.estimators import _groups, base_masses, load_base


def advantages(
    rewards_PG: Tensor,
    *,
    logp_old_PG: Tensor,
    lengths_PG: Tensor,
    alpha: float = 0.25,
    groups: Literal["both", "mixed", "negative"] = "both",
    difficulty: Literal["sequence", "length_normalised"] = "sequence",
    std: Literal["biased", "unbiased"] = "biased",
    epsilon: float = 1e-6,
) -> Tensor:
    """Likelihood-calibrated rewards (LENS, sec. 5.1): A = GRPO of r - (1 - r) pibar / (G (D - pibar)).

    All-wrong groups are only centred, and weighted by alpha.
    pibar = pi_old^(1/T) (`logp_old_PG` is log pi_old of the whole response, nats; `lengths_PG` T), and
    D = max(D_imp, 2 max pibar) in mixed groups, 2 max pibar in all-wrong ones, where D_imp = 1 / mean(r / pi_old)
    (Eq. 14). The paper writes Eq. 14 with the sequence probability and everything else with pibar: `sequence` is
    Eq. 14 as printed, the default, and next to nothing for long responses; `length_normalised` uses pibar in it
    too. `groups` keeps the calibration for mixed or for all-wrong groups only (Table 2); without it mixed groups
    have GRPO's weights and all-wrong groups none. Rewards are read as classes.

    Calibrated rewards lie in [-1/G, 0] for errors, so that in a mixed group every error stays below the mean; in
    an all-wrong group |A| < alpha / G. Raises ValueError for negative alpha.
    """
    if alpha < 0:
        raise ValueError(f"alpha must not be negative: {alpha}")
    right_PG, p_P1 = _groups.correct(rewards_PG), _groups.solve_rate(rewards_PG)
    binary_PG = right_PG.to(rewards_PG.dtype)
    penalty_PG = penalties(right_PG, logp_old_PG, lengths_PG, difficulty)
    calibrated_PG = binary_PG - (1 - binary_PG) * penalty_PG / rewards_PG.shape[1]
    normalised = load_base("grpo", std=std, epsilon=epsilon)
    mixed_PG = normalised(binary_PG if groups == "negative" else calibrated_PG)
    negative_PG = torch.zeros_like(binary_PG) if groups == "mixed" else alpha * _groups.centred(calibrated_PG)
    return torch.where(p_P1 == 0, negative_PG, torch.where(p_P1 == 1, torch.zeros_like(binary_PG), mixed_PG))


def penalties(right_PG: Tensor, logp_old_PG: Tensor, lengths_PG: Tensor, difficulty: str) -> Tensor:
    """pibar / (D - pibar) in (0, 1], computed from logarithms: exp(log pibar - log D) / (1 - the same)."""
    log_confidence_PG = logp_old_PG / lengths_PG
    log_difficulty_P1 = log(2) + log_confidence_PG.amax(dim=1, keepdim=True)
    chosen_PG = logp_old_PG if difficulty == "sequence" else log_confidence_PG
    inverse_PG = torch.where(right_PG, -chosen_PG, torch.full_like(chosen_PG, float("-inf")))
    log_importance_P1 = log(right_PG.shape[1]) - torch.logsumexp(inverse_PG, dim=1, keepdim=True)
    has_success_P1 = right_PG.any(dim=1, keepdim=True)
    larger_P1 = torch.maximum(log_difficulty_P1, log_importance_P1)
    ratio_PG = (log_confidence_PG - torch.where(has_success_P1, larger_P1, log_difficulty_P1)).exp()
    return ratio_PG / (1 - ratio_PG)


def masses(
    p: Tensor, groups: int, *, std: Literal["biased", "unbiased"] = "biased", epsilon: float = 0.0
) -> tuple[Tensor, Tensor]:
    """m_S = m_F = sqrt(pq) where all rollouts are equally confident: the calibration then is affine"""
    return base_masses("grpo", p, groups, std=std, epsilon=epsilon)

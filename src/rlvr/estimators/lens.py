"""LENS: errors are penalised by the confidence they were made with, and groups without a success still teach."""

from __future__ import annotations

from typing import Any, Literal

from rlvr.estimators import EstimatorKind, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor,
    *,
    logp_old_PG: Tensor,
    lengths_PG: Tensor,
    alpha: float = 0.25,
    groups: Literal["both", "mixed", "negative"] = "both",
    difficulty: Literal["sequence", "length_normalised"] = "sequence",
    std: Std = "biased",
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
    right_PG = _groups.correct(rewards_PG)
    binary_PG = right_PG.to(rewards_PG.dtype)
    penalty_PG = penalties(binary_PG, logp_old_PG, lengths_PG, difficulty)
    calibrated_PG = binary_PG - (1 - binary_PG) * penalty_PG / rewards_PG.shape[1]
    # All-right groups have equal calibrated rewards, hence zeros.
    mixed_PG = load_base("grpo", std=std, epsilon=epsilon)(binary_PG if groups == "negative" else calibrated_PG)
    weight = 0.0 if groups == "mixed" else alpha
    return torch.where(_groups.mean(binary_PG) == 0, weight * _groups.centred(calibrated_PG), mixed_PG)


def penalties(binary_PG: Tensor, logp_old_PG: Tensor, lengths_PG: Tensor, difficulty: str) -> Tensor:
    """pibar / (D - pibar), in [0, 1]; all of it relative to the group's largest pibar, so that nothing underflows."""
    log_confidence_PG = logp_old_PG / lengths_PG
    top_P1 = log_confidence_PG.amax(dim=1, keepdim=True)
    confidence_PG = (log_confidence_PG - top_P1).exp()
    chosen_PG = logp_old_PG if difficulty == "sequence" else log_confidence_PG
    # Of a long response 1 / pi is astronomical and D_imp inert: 80 nats are enough for that, and do not overflow.
    inverse_P1 = _groups.mean(binary_PG * (top_P1 - chosen_PG).clamp(max=80).exp())
    importance_P1 = torch.where(inverse_P1 > 0, 1 / inverse_P1, 0.0)  # without a success it is undefined, and left out
    return confidence_PG / (importance_P1.clamp(min=2.0) - confidence_PG)


def masses(p: Tensor, rollouts: int, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m_F = sqrt(pq) where all rollouts are equally confident: the calibration then is affine"""
    return base_masses(p, rollouts, base="grpo", **base)


ESTIMATOR = EstimatorKind(advantages, masses)

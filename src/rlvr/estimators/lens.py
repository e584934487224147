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
    probability: Literal["length_normalised", "sequence"] = "length_normalised",
    divisor: Literal["rollouts", "rollouts_if_mixed", "tokens"] = "rollouts",
    gamma: float | None = None,
    std: Std = "biased",
    epsilon: float = 1e-6,
    placed: Literal["own", "next"] = "own",
) -> Tensor:
    """Likelihood-calibrated rewards (LENS, sec. 5.1): A = GRPO of r - (1 - r) pibar / (G (D - pibar)).

    All-wrong groups are only centred, and weighted by alpha.
    pibar = pi_old^(1/T) (`logp_old_PG` is log pi_old of the whole response, nats; `lengths_PG` T), and
    D = max(D_imp, 2 max pibar) in mixed groups, 2 max pibar in all-wrong ones, where D_imp = 1 / mean(r / pi_old)
    (Eq. 14). The paper writes Eq. 14 with the sequence probability and everything else with pibar: `sequence` is
    Eq. 14 as printed, the default, and next to nothing for long responses; `length_normalised` uses pibar in it
    too. `groups` keeps the calibration for mixed or for all-wrong groups only (Table 2); without it mixed groups
    have GRPO's weights and all-wrong groups none. Rewards are read as classes.

    `probability: sequence` has pi_old instead of pibar (Eq. 10 as printed; sec. 5.1 says why pibar is used). `divisor`
    is what a penalty is divided by: G in all groups (sec. 5.1 as printed, the default), G in mixed groups and 1 in
    all-wrong ones (sec. 5.1 motivates G only by mixed groups), or T (App. C). `gamma` replaces D (App. C:
    pibar / (T (gamma - pibar)) with `divisor: tokens`, "with gamma > 0 properly tuned"). pibar may reach 1, where a
    smaller gamma has a pole and rewards errors beyond it: so gamma must exceed 1.

    `placed: next` is a placebo (ours): the weights of an all-wrong group go to the next group of the step, whatever its
    rewards, and are added to those that it has. The prompts of a step are in random order, so that random groups learn
    instead of the all-wrong ones; each weight stays as it is.

    By default calibrated rewards lie in [-1/G, 0] for errors, so that in a mixed group every error stays below the
    mean; in an all-wrong group |A| < alpha / G. Raises ValueError for negative alpha, and gamma of at most 1.
    """
    if alpha < 0:
        raise ValueError(f"alpha must not be negative: {alpha}")
    if gamma is not None and gamma <= 1:
        raise ValueError(f"gamma must exceed 1, which a probability per token can reach: {gamma}")
    right_PG = _groups.correct(rewards_PG)
    binary_PG = right_PG.to(rewards_PG.dtype)
    if gamma is None:
        penalty_PG = penalties(binary_PG, logp_old_PG, lengths_PG, difficulty, probability)
    else:
        confidence_PG = _log_confidence(logp_old_PG, lengths_PG, probability).exp()
        penalty_PG = confidence_PG / (gamma - confidence_PG)
    divisor_PG = _divisor(binary_PG, lengths_PG, divisor)
    calibrated_PG = binary_PG - (1 - binary_PG) * penalty_PG / divisor_PG
    # All-right groups have equal calibrated rewards, hence zeros.
    mixed_PG = load_base("grpo", std=std, epsilon=epsilon)(binary_PG if groups == "negative" else calibrated_PG)
    weight = 0.0 if groups == "mixed" else alpha
    wrong_P1 = _groups.mean(binary_PG) == 0
    negative_PG = weight * _groups.centred(calibrated_PG)
    if placed == "next":
        return mixed_PG.masked_fill(wrong_P1, 0.0) + negative_PG.masked_fill(~wrong_P1, 0.0).roll(1, dims=0)
    return torch.where(wrong_P1, negative_PG, mixed_PG)


def penalties(
    binary_PG: Tensor,
    logp_old_PG: Tensor,
    lengths_PG: Tensor,
    difficulty: str,
    probability: str = "length_normalised",
) -> Tensor:
    """pibar / (D - pibar), in [0, 1]; all of it relative to the group's largest pibar, so that nothing underflows."""
    log_confidence_PG = _log_confidence(logp_old_PG, lengths_PG, probability)
    top_P1 = log_confidence_PG.amax(dim=1, keepdim=True)
    confidence_PG = (log_confidence_PG - top_P1).exp()
    chosen_PG = _log_confidence(logp_old_PG, lengths_PG, difficulty)
    # Of a long response 1 / pi is astronomical and D_imp inert: 80 nats are enough for that, and do not overflow. With
    # pi instead of pibar and D_imp per length, it is the reverse.
    inverse_P1 = _groups.mean(binary_PG * (top_P1 - chosen_PG).clamp(min=-80, max=80).exp())
    importance_P1 = torch.where(inverse_P1 > 0, 1 / inverse_P1, 0.0)  # without a success it is undefined, and left out
    return confidence_PG / (importance_P1.clamp(min=2.0) - confidence_PG)


def _log_confidence(logp_old_PG: Tensor, lengths_PG: Tensor, probability: str) -> Tensor:
    return logp_old_PG if probability == "sequence" else logp_old_PG / lengths_PG


def _divisor(binary_PG: Tensor, lengths_PG: Tensor, divisor: str) -> Tensor | int:
    if divisor == "tokens":
        return lengths_PG
    rollouts = binary_PG.shape[1]
    if divisor == "rollouts":
        return rollouts
    return torch.where(_groups.mean(binary_PG) == 0, 1.0, float(rollouts)).to(binary_PG.dtype)


def masses(p: Tensor, rollouts: int, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m_F = sqrt(pq) where all rollouts are equally confident: the calibration then is affine"""
    return base_masses(p, rollouts, base="grpo", **base)


ESTIMATOR = EstimatorKind(advantages, masses, later=("probability", "divisor", "gamma", "placed"))

"""PACS: RL as the supervised prediction of the reward, by a score made of the policy."""

from __future__ import annotations

from math import log
from typing import Any, Literal

from rlvr.estimators import EstimatorKind, F, Std, Tensor, _groups, torch


def advantages(
    rewards_PG: Tensor,
    *,
    logp_PG: Tensor,
    logp_ref_PG: Tensor,
    lengths_PG: Tensor | None = None,
    beta: float = 1.0,
    score: Literal["rloo", "grpo", "dr_grpo"] = "rloo",
    std: Std = "biased",
    class_weights: bool = True,
    actor: bool = False,
    over: Literal["sum", "mean"] = "sum",
    likelihood: Literal["logistic", "linear"] = "logistic",
) -> Tensor:
    """Policy weight of the PACS loss (PACS, Eq. 4, 6-8): A_i = G dJ/dlog pi(y_i|x), J = -L_PACS of the group.

    r_hat = beta (log pi - log pi_ref), summed over tokens (`over: sum`, Eq. 7) or their mean (`mean`, ours, which also
    divides each A_i by the length); psi is r_hat less the mean of the others (`rloo`, the paper's), less the group's
    mean (`dr_grpo`), or that over the group's std (`grpo`). With the residual e_i = w_i (R_i - sigmoid(psi_i)),

        A = beta (e - mean of the other e)      rloo          A = beta (e - mean(e))      dr_grpo
        A = beta (e - mean(e) - psi mean(e psi)) / std        grpo, times G / (G - 1) the last mean for `unbiased`

    A changes with the policy, so it is taken anew at each minibatch; the gradient of mean(A log pi) with A fixed is
    that of the loss. At pi = pi_ref psi is 0: A is beta times RLOO of the rewards without class weights, and has the
    flat mass beta G / (4 (G - 1)) with them. `class_weights` are the released code's, G / (2 n) for n rollouts of a
    class, 1 in groups of one class; the paper cites King and Zeng and gives no formula.

    `actor` adds the term of Eq. 5 that the sampling of responses gives, l grad log pi: A_i + w_i l_i, where l_i is the
    log-likelihood of R_i. The released code's plain autograd leaves it out, and so does the default. l_i is negative:
    at pi = pi_ref and beta = 1, with class weights, correct responses too have weights below zero (G >= 4).

    `likelihood: linear` is a placebo (ours): the log-likelihood's expansion at psi = 0, (R - 1/2) psi - log 2, so that
    e_i = w_i (R_i - 1/2) at every policy. With `rloo` and `dr_grpo` the weights then stay those at pi_ref.

    `std` as in `grpo`: Eq. 9 writes std, the released code takes the unbiased one and adds 1e-6. Where all r_hat are
    equal (to 1e-4 nats) the std is taken as 1. Rewards are read as classes.
    """
    if beta <= 0:
        raise ValueError(f"beta must be positive: {beta}")
    scale = _scale(beta, over, lengths_PG)
    critic_PG = _critic(rewards_PG, logp_PG, logp_ref_PG, scale, score, std, class_weights, likelihood)
    if not actor:
        return critic_PG
    psi_PG = scores(logp_PG, logp_ref_PG, scale, score, std)
    return critic_PG + class_weight(rewards_PG, class_weights) * _log_likelihood(rewards_PG, psi_PG, likelihood)


def needs(*, over: str, **_: Any) -> set[str]:
    """What these settings need: a sum over tokens needs no lengths."""
    return {"logp_PG", "logp_ref_PG", *(["lengths_PG"] if over == "mean" else [])}


def _scale(beta: float, over: str, lengths_PG: Tensor | None) -> float | Tensor:
    """beta, or beta over each response's length."""
    if over == "sum":
        return beta
    assert lengths_PG is not None
    return beta / lengths_PG


def _critic(
    rewards_PG: Tensor,
    logp_PG: Tensor,
    logp_ref_PG: Tensor,
    beta: float | Tensor,
    score: str,
    std: Std,
    class_weights: bool,
    likelihood: str,
) -> Tensor:
    """G times the gradient of J by log pi, for given responses."""
    psi_PG = scores(logp_PG, logp_ref_PG, beta, score, std)
    residual_PG = class_weight(rewards_PG, class_weights) * (
        _groups.correct(rewards_PG).to(rewards_PG.dtype) - (torch.sigmoid(psi_PG) if likelihood == "logistic" else 0.5)
    )
    rollouts = rewards_PG.shape[1]
    if score == "rloo":
        return beta * _groups.centred(residual_PG) * rollouts / (rollouts - 1)
    if score == "dr_grpo":
        return beta * _groups.centred(residual_PG)
    along_P1 = _groups.mean(residual_PG * psi_PG) * (1 if std == "biased" else rollouts / (rollouts - 1))
    return beta * (_groups.centred(residual_PG) - psi_PG * along_P1) / _spread(beta * (logp_PG - logp_ref_PG), std)


def scores(logp_PG: Tensor, logp_ref_PG: Tensor, beta: float | Tensor, score: str, std: str = "biased") -> Tensor:
    """psi (PACS, Eq. 6-7; sec. 5.2 for the other two)."""
    proxy_PG = beta * (logp_PG - logp_ref_PG)
    centred_PG = _groups.centred(proxy_PG)
    if score == "rloo":
        rollouts = proxy_PG.shape[1]
        if rollouts < 2:
            raise ValueError("PACS with RLOO needs at least two rollouts a prompt")
        return centred_PG * rollouts / (rollouts - 1)
    return centred_PG / _spread(proxy_PG, std) if score == "grpo" else centred_PG


ROUNDING = 1e-4  # nats: two passes over the same weights differ by about 1e-5 a response


def _spread(proxy_PG: Tensor, std: str) -> Tensor:
    if std == "unbiased" and proxy_PG.shape[1] < 2:
        raise ValueError("PACS with an unbiased std needs at least two rollouts a prompt")
    std_P1 = proxy_PG.std(dim=1, keepdim=True, correction=0 if std == "biased" else 1)
    return torch.where(std_P1 < ROUNDING, torch.ones_like(std_P1), std_P1)


def class_weight(rewards_PG: Tensor, on: bool) -> Tensor:
    right_PG = _groups.correct(rewards_PG)
    if not on:
        return torch.ones_like(rewards_PG)
    rollouts, successes_P1 = rewards_PG.shape[1], right_PG.sum(dim=1, keepdim=True).to(rewards_PG.dtype)
    balanced_PG = rollouts / (2 * torch.where(right_PG, successes_P1, rollouts - successes_P1))
    return torch.where((successes_P1 > 0) & (successes_P1 < rollouts), balanced_PG, torch.ones_like(rewards_PG))


def objective(
    rewards_PG: Tensor,
    *,
    logp_PG: Tensor,
    logp_ref_PG: Tensor,
    lengths_PG: Tensor | None = None,
    beta: float,
    score: str,
    std: str,
    class_weights: bool,
    over: str = "sum",
    likelihood: str = "logistic",
    **_: Any,
) -> Tensor:
    """-L_PACS a prompt (P), Eq. 8: the mean of w (R log sigmoid(psi) + (1 - R) log(1 - sigmoid(psi)))."""
    psi_PG = scores(logp_PG, logp_ref_PG, _scale(beta, over, lengths_PG), score, std)
    return (class_weight(rewards_PG, class_weights) * _log_likelihood(rewards_PG, psi_PG, likelihood)).mean(dim=1)


def figures(
    rewards_PG: Tensor,
    *,
    logp_PG: Tensor,
    logp_ref_PG: Tensor,
    lengths_PG: Tensor | None = None,
    beta: float,
    score: str,
    std: str,
    over: str,
    **_: Any,
) -> dict[str, float | None]:
    """Median and 90 % quantile of |psi|. Where psi is 0, so is what the policy adds: weights are their closed form."""
    psi_PG = scores(logp_PG, logp_ref_PG, _scale(beta, over, lengths_PG), score, std)
    return _groups.quantiles("psi", psi_PG.abs())


def _log_likelihood(rewards_PG: Tensor, psi_PG: Tensor, likelihood: str) -> Tensor:
    """l of Eq. 5: log sigmoid(psi) where correct, log(1 - sigmoid(psi)) where wrong; or its expansion at psi = 0."""
    signed_PG = torch.where(_groups.correct(rewards_PG), psi_PG, -psi_PG)
    return F.logsigmoid(signed_PG) if likelihood == "logistic" else signed_PG / 2 - log(2)


def masses(
    p: Tensor, rollouts: int, *, beta: float, score: str, class_weights: bool, actor: bool, over: str, **_: Any
) -> tuple[Tensor, Tensor]:
    """At pi = pi_ref: m_S = m_F = beta/4 G / (G - 1) in mixed groups (class weights), beta pq G / (G - 1) without"""
    if over == "mean":
        raise ValueError("PACS with a mean over tokens has no closed form: its weights depend on lengths")
    mass = _groups.masked(p, torch.full_like(p, 0.25)) if class_weights else p * (1 - p)
    mass = beta * mass * (rollouts / (rollouts - 1) if score == "rloo" else 1.0)
    if not actor:
        return mass, mass
    right, wrong = p, 1 - p
    if class_weights:
        mixed = (p > 0) & (p < 1)
        right, wrong = (torch.where(mixed, torch.full_like(p, 0.5), share) for share in (right, wrong))
    return mass - log(2) * right, mass + log(2) * wrong


ESTIMATOR = EstimatorKind(
    advantages, masses, objective=objective, needs=needs, figures=figures, later=("std", "actor", "over", "likelihood")
)

"""PACS' statements."""

from __future__ import annotations

import itertools
import math

import torch
from torch.nn import functional as F

from rlvr.estimators import Estimator, pacs
from rlvr.theory.statement import (
    LOGITS,
    RIGHT,
    Chapter,
    Finding,
    by_successes,
    conditional,
    fails,
    gap,
    holds,
    normal,
    scores,
)

chapter = Chapter("PACS")
REFERENCE = torch.tensor([0.2, 0.0, 0.3, -0.2, 0.1], dtype=torch.float64)


def _likelihood(psi: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return right * F.logsigmoid(psi) + (1 - right) * F.logsigmoid(-psi)


@chapter.says("Eq. 4", "The gradient of the cross-entropy is (R - sigmoid(psi)) grad psi.", "autograd, both labels")
def residual() -> Finding:
    psi = normal(200).requires_grad_()
    right = (normal(200, seed=1) > 0).double()
    found = torch.autograd.grad(_likelihood(psi, right).sum(), psi)[0]
    return holds(gap(found, right - torch.sigmoid(psi.detach())), 1e-12)


@chapter.says(
    "Eq. 5",
    "The loss's gradient is an actor term, l grad log pi, plus a critic term, (R - sigmoid(psi)) grad psi.",
    "autograd of the enumerated expectation, single-sample psi, 5 answers",
)
def actor_and_critic() -> Finding:
    theta = LOGITS.clone().requires_grad_()
    log_pi = theta.log_softmax(0)
    psi = log_pi - REFERENCE.log_softmax(0)
    found = torch.autograd.grad((log_pi.exp() * _likelihood(psi, RIGHT)).sum(), theta)[0]
    pi, psi = LOGITS.softmax(0), psi.detach()
    weight = _likelihood(psi, RIGHT) + (RIGHT - torch.sigmoid(psi))
    critic_only = (pi * (RIGHT - torch.sigmoid(psi))) @ scores(pi)
    return holds(
        gap(found, (pi * weight) @ scores(pi)),
        1e-12,
        f"the released code has no actor term; without it the gradient differs by up to {gap(found, critic_only):.2f} here",
    )


@chapter.says("Appendix A.1", "dl / dy_hat = (y_hat - y) / (y_hat (1 - y_hat)) for l = y log y_hat + ...", "autograd")
def printed_derivative() -> Finding:
    y_hat = torch.linspace(0.1, 0.9, 9, dtype=torch.float64).requires_grad_()
    found = torch.autograd.grad((torch.log(y_hat)).sum(), y_hat)[0]
    y_hat = y_hat.detach()
    return fails(
        gap(found, (y_hat - 1) / (y_hat * (1 - y_hat))), "y = 1", "with the opposite sign, as the next line has it"
    )


@chapter.says(
    "Appendix A.1",
    "The effective advantage l + beta (R - sigmoid(psi)) reinforces correct responses.",
    "its largest value for R = 1 over psi in [-30, 30], beta = 1 and 2",
)
def effective_advantage() -> Finding:
    psi = torch.linspace(-30, 30, 60_001, dtype=torch.float64)

    def largest(beta: float) -> float:
        return float((F.logsigmoid(psi) + beta * torch.sigmoid(-psi)).max())

    at_zero = math.log(0.5) + 0.5
    return fails(
        -at_zero if largest(1.0) <= 0 else 0.0,
        f"for beta <= 1 it is never positive for a correct response (sup {largest(1.0):.1e}), and {at_zero:.3f} at psi = 0; "
        f"at beta = 2 it is positive for some psi (up to {largest(2.0):.2f})",
        "without the actor term, as released: beta (1 - sigmoid(psi)) > 0",
    )


@chapter.says(
    "Proposition A.2",
    "The loss has its minimum at pi_ref exp(logit(E[R]) / beta), a Gibbs distribution.",
    "the sum of that expression over answers with E[R] = 0.8 each, beta = 1",
)
def gibbs_form() -> Finding:
    total = float((REFERENCE.softmax(0) * math.exp(math.log(0.8 / 0.2))).sum())
    return fails(
        total - 1,
        f"sums to {total:.0f}, no distribution; with verifiable rewards E[R] is 0 or 1 and the exponent infinite. A mean of "
        "psi over the group is zero too, which no label but 1/2 allows",
        "up to a normalisation that the derivation does not have, and for 0 < E[R] < 1",
    )


def _population_loss(pi: torch.Tensor, reference: torch.Tensor, right: torch.Tensor, beta: float) -> torch.Tensor:
    psi = beta * (pi.clamp(min=1e-300).log() - reference.log())
    return -(pi * _likelihood(psi, right)).sum(-1)


@chapter.says(
    "Appendix A.2, its consequence",
    "So the minimum keeps diversity, in contrast to the single answer that plain RL prefers.",
    "the on-policy population loss (Eq. 1, psi of one sample) on a grid of the simplex, 4 answers, 2 correct",
)
def diverse_minimum() -> Finding:
    reference = torch.tensor([0.1, 0.3, 0.35, 0.25], dtype=torch.float64)
    right = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64)
    steps = 20
    grid = [c for c in itertools.product(range(steps + 1), repeat=4) if sum(c) == steps]
    simplex = torch.tensor(grid, dtype=torch.float64) / steps
    winners = [simplex[int(_population_loss(simplex, reference, right, beta).argmin())] for beta in (0.5, 1.0, 2.0)]
    top = min(float(w.max()) for w in winners)
    rarest = all(int(w.argmax()) == 0 for w in winners)
    return fails(
        top if rarest else 0.0,
        f"reference {reference.tolist()}, answers 0 and 1 correct: at beta = 0.5, 1 and 2 the grid's minimum puts probability "
        f"{top:.0f} on answer 0, the rarest correct one",
        "no claim about the path of training, where the reference is reset and psi starts at 0",
    )


@chapter.says("Sec. 3.4", "The RLOO score is G / (G - 1) times the Dr.GRPO score.", "random groups of 8")
def rloo_and_dr_grpo() -> Finding:
    logp, reference = normal(100, 8), normal(100, 8, seed=1)
    first, second = (pacs.scores(logp, reference, 1.0, score) for score in ("rloo", "dr_grpo"))
    return holds(gap(first, 8 / 7 * second), 1e-12, "the `Dr.GRPO` ablation is beta = 0.875 at G = 8")


@chapter.says(
    "Sec. 5.2",
    "RLOO's score has lower variance than the group-mean baseline of Dr.GRPO.",
    "relative variance of the two scores over random groups of 8",
)
def rloo_variance() -> Finding:
    logp, reference = normal(2000, 8), normal(2000, 8, seed=1)
    rloo, dr = (pacs.scores(logp, reference, 1.0, score) for score in ("rloo", "dr_grpo"))
    ratio = float(rloo.var() / dr.var())
    return fails(
        ratio - 1, f"its variance is (8/7)^2 = {ratio:.3f} times Dr.GRPO's; relative to its size, the same", ""
    )


@chapter.says(
    "Eq. 4-8 at pi = pi_ref",
    "A step from the reference is an RLOO step.",
    "the weight at psi = 0 against RLOO, all successes of 16; with class weights for comparison",
)
def first_step() -> Finding:
    rewards = by_successes(16)
    given = {"logp_PG": torch.zeros_like(rewards), "logp_ref_PG": torch.zeros_like(rewards)}
    rloo = Estimator("rloo").advantages(rewards, {}, {})
    plain, weighted = (Estimator("pacs", {"class_weights": on}).advantages(rewards, given, {}) for on in (False, True))
    return conditional(
        gap(plain, rloo),
        gap(weighted, rloo),
        "without class weights; with them every mixed group has the mass G / (4 (G - 1))",
    )


@chapter.says(
    "Sec. 3.5", "Class weights balance the attention to correct and wrong responses.", "masses at psi = 0, p = k/16"
)
def class_balance() -> Finding:
    rewards = by_successes(16)[1:-1]
    given = {"logp_PG": torch.zeros_like(rewards), "logp_ref_PG": torch.zeros_like(rewards)}
    weights = Estimator("pacs").advantages(rewards, given, {})
    mass_s = (weights * rewards).mean(1)
    return holds(
        gap(mass_s, torch.full_like(mass_s, 16 / 60)),
        1e-12,
        "flat: 0.267 for every 0 < p < 1, so that all mixed prompts weigh alike",
    )


@chapter.says(
    "Sec. 3.4", "As predictions approach the labels the residual, and with it the update, vanishes.", "psi = 0 to 40"
)
def vanishing() -> Finding:
    psi = torch.linspace(0, 40, 401, dtype=torch.float64)
    update = 1 - torch.sigmoid(psi)
    return holds(float(update[-1]) + float(update.diff().clamp(min=0).max()), 1e-12)

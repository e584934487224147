"""PACS' statements."""

import itertools
import math

import torch
from torch.nn import functional as F

from rlvr.estimators import Estimator, pacs
from rlvr.theory._policy import LOGITS, RIGHT, by_successes, gap, normal, scores
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("PACS", place=5)
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
        f"the released code has no actor term; without it the gradient differs by up to {gap(found, critic_only):.2f} "
        "here",
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
    "With the effective advantage l + beta (R - sigmoid(psi)) the update is a valid policy gradient, weighted by "
    "prediction error.",
    "its effect on the logit of a correct answer among two, at the reference and away from it, against the gradient "
    "of E[R]; beta = 1",
)
def effective_advantage() -> Finding:
    reference = torch.tensor([0.5, 0.5], dtype=torch.float64)

    def effect(pi: torch.Tensor) -> tuple[float, float]:
        psi, right = pi.log() - reference.log(), torch.tensor([1.0, 0.0], dtype=torch.float64)
        a = _likelihood(psi, right) + (right - torch.sigmoid(psi))
        return float(((pi * a) @ scores(pi))[0]), float(((pi * right) @ scores(pi))[0])

    near, accuracy = effect(reference)
    far, needed = effect(torch.tensor([0.02, 0.98], dtype=torch.float64))
    return conditional(
        abs(near - accuracy),
        needed - far if far < 0 else 0.0,
        "near the reference: there it is the gradient of E[R]. With pi = (0.02, 0.98) and a uniform reference the "
        f"logit of the correct answer 0 changes by {far:+.4f} a unit of step, where E[R] asks for {needed:+.4f}. For "
        "beta <= 1 a correct response's effective advantage is never positive (-0.193 at psi = 0)",
        1e-12,
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
        f"sums to {total:.0f}, no distribution; with verifiable rewards E[R] is 0 or 1 and the exponent infinite. psi "
        "of a group sums to zero too, which no label common to the group but 1/2 allows",
        "for a fixed sampling distribution, 0 < E[R] < 1, and labels for which that expression sums to 1",
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
        f"reference {[round(float(x), 2) for x in reference]}, answers 0 and 1 correct: at beta = 0.5, 1 and 2 the "
        "minimum over a grid of twentieths puts everything on answer 0, the rarest correct one (off the grid, at "
        "least 0.99)",
        "no claim about the path of training, where the reference is reset and psi starts at 0",
    )


@chapter.says(
    "Eq. 6 and sec. 5.2 (ours)", "The RLOO score is G / (G - 1) times the Dr.GRPO score.", "random groups of 8"
)
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
    "Eq. 4-8 at pi = pi_ref (ours)",
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
    "Sec. 3.5, the released code's weights (ours)",
    "With balanced class weights every mixed group has the same mass, G / (4 (G - 1)) to either side, at pi = pi_ref.",
    "masses at psi = 0, p = k/16; the paper gives no formula for its weights",
)
def class_balance() -> Finding:
    rewards = by_successes(16)[1:-1]
    given = {"logp_PG": torch.zeros_like(rewards), "logp_ref_PG": torch.zeros_like(rewards)}
    weights = Estimator("pacs").advantages(rewards, given, {})
    flat = torch.full((15,), 16 / 60, dtype=torch.float64)
    deviation = max(gap((weights * rewards).mean(1), flat), gap(-(weights * (1 - rewards)).mean(1), flat))
    return holds(deviation, 1e-12, "within a group the two masses are equal without class weights too")


@chapter.says(
    "Sec. 3.4",
    "As predictions approach the labels the residual vanishes, and the update with it.",
    "largest weight of a group whose scores are +-10 on its labels: half correct, and all correct",
)
def vanishing() -> Finding:
    def largest(rewards: torch.Tensor, proxy: torch.Tensor) -> float:
        given = {"logp_PG": proxy, "logp_ref_PG": torch.zeros_like(proxy)}
        return float(Estimator("pacs").advantages(rewards, given, {}).abs().max())

    proxy = torch.tensor([[10.0, 10.0, -10.0, -10.0]], dtype=torch.float64)
    mixed, unanimous = (
        largest(torch.tensor([[1.0, 1, 0, 0]]).double(), proxy),
        largest(torch.ones(1, 4).double(), proxy),
    )
    return conditional(
        mixed,
        unanimous,
        "the group has both labels: scores of a group sum to zero, so that in an all-correct one they cannot all "
        f"approach 1, and the largest weight there is {unanimous:.2f}",
        1e-4,
    )


@chapter.says(
    "Sec. 3.4, loss function analysis",
    "For a correct output, minimising log sigmoid(psi) increases psi.",
    "derivative of log sigmoid",
)
def minimised_sign() -> Finding:
    psi = torch.linspace(-5, 5, 11, dtype=torch.float64)
    slope = torch.sigmoid(-psi)
    return fails(
        float(slope.min()),
        "log sigmoid increases in psi, so that minimising it lowers psi",
        "for the loss, minus log sigmoid",
    )

"""PACS' statements."""

import itertools
import math

import torch
from torch.func import grad
from torch.nn import functional as F

from rlvr.estimators import inputs_at_reference, pacs
from rlvr.theory._groups import by_successes, class_masses, mixed_groups, weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, scores
from rlvr.theory._tensors import float64, gap, normal
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("PACS", place=5)
REFERENCE = float64([0.2, 0.0, 0.3, -0.2, 0.1])


def _likelihood(psi: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return right * F.logsigmoid(psi) + (1 - right) * F.logsigmoid(-psi)


@chapter.says("Eq. 4", "autograd, both labels")
def residual() -> Finding:
    """The gradient of the cross-entropy is (R - sigmoid(psi)) grad psi."""
    psi, right = normal(200), (normal(200, seed=1) > 0).double()
    gradient = grad(lambda psi: _likelihood(psi, right).sum())(psi)
    return holds(gap(gradient, right - torch.sigmoid(psi)), 1e-12)


@chapter.says("Eq. 5", "autograd of the enumerated expectation, single-sample psi, 5 answers")
def actor_and_critic() -> Finding:
    """The loss's gradient is an actor term, l grad log pi, plus a critic term, (R - sigmoid(psi)) grad psi."""
    log_reference = REFERENCE.log_softmax(0)

    def value(theta: torch.Tensor) -> torch.Tensor:
        log_pi = theta.log_softmax(0)
        return (log_pi.exp() * _likelihood(log_pi - log_reference, RIGHT)).sum()

    gradient, psi = grad(value)(LOGITS), LOGITS.log_softmax(0) - log_reference
    weight = _likelihood(psi, RIGHT) + (RIGHT - torch.sigmoid(psi))
    critic_only = (PI * (RIGHT - torch.sigmoid(psi))) @ scores(PI)
    return holds(
        gap(gradient, (PI * weight) @ scores(PI)),
        1e-12,
        f"the released code has no actor term: without it the gradient differs by {gap(gradient, critic_only):.2f}",
    )


@chapter.says("Appendix A.1", "autograd")
def printed_derivative() -> Finding:
    """dl / dy_hat = (y_hat - y) / (y_hat (1 - y_hat)) for l = y log y_hat + ..."""
    y_hat = torch.linspace(0.1, 0.9, 9, dtype=torch.float64)
    slope = grad(lambda y: torch.log(y).sum())(y_hat)
    return fails(
        gap(slope, (y_hat - 1) / (y_hat * (1 - y_hat))), "y = 1", "with the opposite sign, as the next line has it"
    )


@chapter.says(
    "Appendix A.1",
    "its effect on the correct one of two logits, at and away from the reference, against E[R]'s gradient; beta = 1",
)
def effective_advantage() -> Finding:
    """With the effective advantage l + beta (R - sigmoid(psi)) the update is a valid policy gradient, weighted by
    prediction error."""
    reference = float64([0.5, 0.5])

    def effect(pi: torch.Tensor) -> tuple[float, float]:
        psi, right = pi.log() - reference.log(), float64([1.0, 0.0])
        a = _likelihood(psi, right) + (right - torch.sigmoid(psi))
        return float(((pi * a) @ scores(pi))[0]), float(((pi * right) @ scores(pi))[0])

    near, accuracy = effect(reference)
    far, needed = effect(float64([0.02, 0.98]))
    return conditional(
        abs(near - accuracy),
        needed - far if far < 0 else 0.0,
        "near the reference: there it is the gradient of E[R]. With pi = (0.02, 0.98) and a uniform reference the "
        f"correct answer's logit changes by {far:+.4f} per unit step, under E[R]'s gradient by {needed:+.4f}. For "
        "beta <= 1 a correct response's effective advantage is never positive (-0.193 at psi = 0)",
        1e-12,
    )


@chapter.says("Proposition A.2", "the sum of that expression over answers with E[R] = 0.8 each, beta = 1")
def gibbs_form() -> Finding:
    """The loss has its minimum at pi_ref exp(logit(E[R]) / beta), a Gibbs distribution."""
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
    "the on-policy population loss (Eq. 1, psi of one sample) on a grid of the simplex, 4 answers, 2 correct",
)
def diverse_minimum() -> Finding:
    """So the minimum keeps diversity, in contrast to the single answer that plain RL prefers."""
    reference = float64([0.1, 0.3, 0.35, 0.25])
    right = float64([1.0, 1.0, 0.0, 0.0])
    steps = 20
    grid = [c for c in itertools.product(range(steps + 1), repeat=4) if sum(c) == steps]
    simplex = float64(grid) / steps
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


def _scores(groups: int) -> tuple[torch.Tensor, torch.Tensor]:
    """RLOO's and Dr.GRPO's scores of random groups of 8."""
    logp, reference = normal(groups, 8), normal(groups, 8, seed=1)
    return pacs.scores(logp, reference, 1.0, "rloo"), pacs.scores(logp, reference, 1.0, "dr_grpo")


@chapter.says("Eq. 6 and sec. 5.2 (ours)", "random groups of 8")
def rloo_and_dr_grpo() -> Finding:
    """The RLOO score is G / (G - 1) times the Dr.GRPO score."""
    rloo, dr_grpo = _scores(100)
    return holds(gap(rloo, 8 / 7 * dr_grpo), 1e-12, "the `Dr.GRPO` ablation is beta = 0.875 at G = 8")


@chapter.says("Sec. 5.2", "relative variance of the two scores over random groups of 8")
def rloo_variance() -> Finding:
    """RLOO's score has lower variance than the group-mean baseline of Dr.GRPO."""
    rloo, dr_grpo = _scores(2000)
    ratio = float(rloo.var() / dr_grpo.var())
    return fails(ratio - 1, f"its variance is (8/7)^2 = {ratio:.3f} times Dr.GRPO's; relative to its size, the same")


@chapter.says(
    "Eq. 4-8 at pi = pi_ref (ours)",
    "the weight at psi = 0 against RLOO, all successes of 16; with class weights for comparison",
)
def first_step() -> Finding:
    """A step from the reference is an RLOO step."""
    rewards = by_successes(16)
    inputs = inputs_at_reference(rewards)
    rloo = weigh("rloo", rewards)
    plain, weighted = (weigh("pacs", rewards, inputs, class_weights=on) for on in (False, True))
    return conditional(
        gap(plain, rloo),
        gap(weighted, rloo),
        "without class weights; with them every mixed group has the mass G / (4 (G - 1))",
    )


@chapter.says(
    "Sec. 3.5, the released code's weights (ours)",
    "masses at psi = 0, p = k/16; the paper gives no formula for its weights",
)
def class_balance() -> Finding:
    """With balanced class weights every mixed group has the same mass, G / (4 (G - 1)) to either side, at pi =
    pi_ref."""
    rewards, _ = mixed_groups(16)
    inputs = inputs_at_reference(rewards)
    mass_s, mass_f = class_masses(weigh("pacs", rewards, inputs), rewards)
    flat = torch.full((15,), 16 / 60, dtype=torch.float64)
    return holds(
        max(gap(mass_s, flat), gap(mass_f, flat)),
        1e-12,
        "within a group the two masses are equal without class weights too",
    )


@chapter.says(
    "Sec. 3.4", "largest weight of a group whose scores are +-10 on its labels: half correct, and all correct"
)
def vanishing() -> Finding:
    """As predictions approach the labels the residual vanishes, and the update with it."""

    def largest(rewards: torch.Tensor, proxy: torch.Tensor) -> float:
        inputs = {"logp_PG": proxy, "logp_ref_PG": torch.zeros_like(proxy)}
        return float(weigh("pacs", rewards, inputs).abs().max())

    proxy = float64([[10.0, 10.0, -10.0, -10.0]])
    mixed, unanimous = largest(float64([[1.0, 1, 0, 0]]), proxy), largest(float64([[1.0, 1, 1, 1]]), proxy)
    return conditional(
        mixed,
        unanimous,
        "the group has both labels: scores of a group sum to zero, so in an all-correct group they cannot all approach "
        f"1, and the largest weight there is {unanimous:.2f}",
        1e-4,
    )


@chapter.says("Sec. 3.4, loss function analysis", "derivative of log sigmoid")
def minimised_sign() -> Finding:
    """For a correct output, minimising log sigmoid(psi) increases psi."""
    slope = torch.sigmoid(-torch.linspace(-5, 5, 11, dtype=torch.float64))
    return fails(
        float(slope.min()),
        "log sigmoid increases in psi, so minimising it lowers psi",
        "for the loss, minus log sigmoid",
    )

"""PACS' statements."""

import itertools
import math

import torch
from torch.func import grad
from torch.nn import functional as F

from rlvr.estimators import inputs_at_reference, pacs
from rlvr.theory._groups import by_successes, class_masses, mixed_groups, outcomes, weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, P, answers, scores
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


def _group_terms(rollouts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of Eq. 8's expectation over groups, less the loss's sign, and Eq. 5's two terms for it."""
    groups, log_reference = answers(rollouts), REFERENCE.log_softmax(0)
    right = RIGHT[groups]

    def log_pi(theta: torch.Tensor) -> torch.Tensor:
        return theta.log_softmax(0)[groups]

    def likelihood(theta: torch.Tensor) -> torch.Tensor:
        return _likelihood(pacs.scores(log_pi(theta), log_reference[groups], 1.0, "rloo"), right)

    chance, constant = PI[groups].prod(1), likelihood(LOGITS)
    whole = grad(lambda theta: log_pi(theta).sum(1).exp() @ likelihood(theta).mean(1))(LOGITS)
    actor = grad(lambda theta: chance @ (constant * log_pi(theta)).mean(1))(LOGITS)
    critic = grad(lambda theta: chance @ likelihood(theta).mean(1))(LOGITS)
    return whole, actor + critic


@chapter.says(
    "Eq. 5",
    "autograd of the enumerated expectation, 5 answers: psi of one sample, and the RLOO score of Eq. 6 in groups of "
    "three",
)
def actor_and_critic() -> Finding:
    """The loss's gradient is an actor term, l grad log pi, plus a critic term, (R - sigmoid(psi)) grad psi."""
    log_reference = REFERENCE.log_softmax(0)

    def value(theta: torch.Tensor) -> torch.Tensor:
        log_pi = theta.log_softmax(0)
        return (log_pi.exp() * _likelihood(log_pi - log_reference, RIGHT)).sum()

    gradient, psi = grad(value)(LOGITS), LOGITS.log_softmax(0) - log_reference
    weight = _likelihood(psi, RIGHT) + (RIGHT - torch.sigmoid(psi))
    critic_only = (PI * (RIGHT - torch.sigmoid(psi))) @ scores(PI)
    whole, stated = _group_terms(3)
    return conditional(
        gap(gradient, (PI * weight) @ scores(PI)),
        gap(whole, stated),
        "psi depends on its own response only. With Eq. 6 it depends on the whole group, and Eq. 8's gradient has an "
        f"actor term l_i grad log pi(o_j) for the others too: without it it is off by {gap(whole, stated):.3f}. The "
        "released code has no actor term: for one sample that changes the gradient by "
        f"{gap(gradient, critic_only):.2f}",
        1e-12,
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


def group_variance(weights_NG: torch.Tensor, pi: torch.Tensor) -> tuple[torch.Tensor, float]:
    """The mean of a group's update, and the trace of its covariance, over all groups of so many answers of pi."""
    groups = answers(weights_NG.shape[1])
    chance = pi[groups].prod(1)
    update = (weights_NG[..., None] * scores(pi)[groups]).mean(1)
    mean = chance @ update
    return mean, float(chance @ (update**2).sum(1) - (mean**2).sum())


def _effective_advantage(pi: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """A_PACS of each answer, beta = 1."""
    psi = pi.log() - reference.log()
    return _likelihood(psi, RIGHT) + (RIGHT - torch.sigmoid(psi))


@chapter.says(
    "Appendix A.1, its last sentence",
    "trace of the covariance of the update of 4 answers, over all 5^4 groups: A_PACS (beta = 1) at its reference "
    "against RLOO, which has the same expected update there; and later",
)
def variance_reduced() -> Finding:
    """The effective advantage gives a variance-reduced update, compared with policy gradients with statistical
    baselines."""
    groups = answers(4)
    rloo_mean, rloo = group_variance(weigh("rloo", RIGHT[groups]), PI)
    mean, ours = group_variance(_effective_advantage(PI, PI)[groups], PI)
    assert gap(mean, rloo_mean) < 1e-12
    _, residual_only = group_variance((RIGHT - 0.5)[groups], PI)
    later = (LOGITS + 2 * RIGHT).softmax(0)

    def noise(weights_NG: torch.Tensor) -> float:
        mean, variance = group_variance(weights_NG, later)
        return variance / float(mean @ mean)

    moved, baseline = noise(_effective_advantage(later, PI)[groups]), noise(weigh("rloo", RIGHT[groups]))
    return fails(
        ours / rloo - 1,
        f"at pi = pi_ref, solve rate {P:.2f}, A_PACS is R - 1.19: the expected update is RLOO's and its variance "
        f"{ours / rloo:.1f} times RLOO's. With the policy at a solve rate of {float(later @ RIGHT):.2f} and the "
        f"reference where it was, the variance over the squared mean is {moved:.1f} against RLOO's {baseline:.1f}: as "
        "predictions approach the labels the signal vanishes with the noise",
        "for the residual without l, where the solve rate is near 1/2: R - 1/2 has a constant baseline and "
        f"{residual_only / rloo:.2f} times RLOO's variance here",
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
    "Appendix D.3", "mean of the score given the response, over all 5^4 groups, RLOO and the group's mean; beta = 1"
)
def rloo_bias() -> Finding:
    """With the leave-one-out average instead of the group's mean, RLOO minimises the bias in advantage estimation."""
    groups, proxy = answers(4), PI.log() - REFERENCE.log_softmax(0)
    chance = PI[groups].prod(1)
    advantage = proxy - PI @ proxy

    def given_first(score: str) -> torch.Tensor:
        values = pacs.scores(PI.log()[groups], REFERENCE.log_softmax(0)[groups], 1.0, score)[:, 0]
        return torch.stack([(chance * values)[groups[:, 0] == y].sum() / PI[y] for y in range(5)])

    assert gap(given_first("dr_grpo"), 3 / 4 * advantage) < 1e-12
    return holds(
        gap(given_first("rloo"), advantage),
        1e-12,
        "the bias of the group's mean is the factor (G - 1) / G, common to all responses, as a smaller beta: it "
        "changes no order and no relative precision, so the `more precise signals` do not follow (`rloo_variance`)",
    )


@chapter.says(
    "Sec. 1",
    "largest weight over all labels and all scores of +-20 in groups of 8 (the shipped weights, beta = 1): the "
    "residual alone, with class weights, with the actor term of Eq. 5; RLOO's",
)
def bounded_residual() -> Finding:
    """The supervised residual is bounded, which attenuates extreme updates."""
    patterns = outcomes(8)
    rewards, proxy = patterns.repeat_interleave(256, 0), (40 * patterns - 20).repeat(256, 1)

    def largest(**settings) -> float:
        inputs = {"logp_PG": proxy, "logp_ref_PG": torch.zeros_like(proxy)}
        return float(weigh("pacs", rewards, inputs, **settings).abs().max())

    plain, weighted = largest(class_weights=False), largest(class_weights=True)
    actor, rloo = largest(class_weights=False, actor=True), float(weigh("rloo", patterns).abs().max())
    return conditional(
        max(0.0, plain - 2.0),
        actor - 2.0,
        "the actor term is left out, as in the released code: |R - sigmoid(psi)| < 1 bounds a weight by 2 beta, but l "
        "of Eq. 5 is unbounded, as -|psi| for a wrong prediction: at proxies of +-20 the largest weight is "
        f"{actor:.0f}, against {plain:.1f} without it and {weighted:.1f} with class weights. RLOO's weights are "
        f"bounded too, by {rloo:.0f}, so that the bound is no tighter than the baselines'",
        1e-9,
    )


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

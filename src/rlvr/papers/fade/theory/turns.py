"""Several turns, and resampled prompts (FADE, sec. 9)."""

import torch
from scipy import stats
from torch.func import grad

from rlvr.theory._policy import LOGITS, RIGHT, scores
from rlvr.theory._tensors import float64, gap
from rlvr.theory.statement import Chapter, Finding, conditional, holds

section = Chapter("FADE")


@section.says(
    "Sec. 9.1, Eq. 15-16",
    "enumeration of a two-turn policy that answers again after a wrong answer; weights 1 for success, -0.5 for failure",
)
def multi_turn() -> Finding:
    """Over turns the gradient is the sum of m_S(t) grad_S(t) - m_F(t) grad_F(t), masses scaled by the chance to reach
    turn t."""
    logits, wrong = torch.stack([LOGITS, LOGITS.flip(0)]), 1 - RIGHT

    def value(theta: torch.Tensor) -> torch.Tensor:
        first, second = theta.softmax(1)
        return first @ RIGHT + (first @ wrong) * (second @ RIGHT - 0.5 * second @ wrong)

    gradient, pi = grad(value)(logits), logits.softmax(1)
    p, q = pi @ RIGHT, pi @ wrong
    score_s = [(pi[t] * RIGHT) @ scores(pi[t]) / p[t] for t in (0, 1)]
    score_f = [(pi[t] * wrong) @ scores(pi[t]) / q[t] for t in (0, 1)]
    later = p[1] - 0.5 * q[1]  # value of a failure at turn 1
    turn1 = p[0] * score_s[0] - q[0] * -later * score_f[0]
    turn2 = q[0] * (p[1] * score_s[1] - 0.5 * q[1] * score_f[1])
    return holds(max(gap(gradient[0], turn1), gap(gradient[1], turn2)), 1e-12, "with rho_1 = 1, rho_2 = q")


@section.says(
    "Sec. 9.2", "expected mass of round 2 over a binomial first round of B = 1 and B = 8 rollouts, by enumeration"
)
def resampling() -> Finding:
    """A second round on prompts that failed the first, reached with probability q, has the mass of Power-alpha = 2."""
    p = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)

    def second(rollouts: int) -> torch.Tensor:
        reached = float64([stats.binom.pmf(0, rollouts, float(x)) for x in p])
        return reached * p * (1 - p)

    stated = p * (1 - p) ** 2
    return conditional(
        gap(second(1), stated),
        gap(second(8), stated),
        "a rollout is retried for itself; a prompt whose B rollouts all fail is reached with q^B. Round 2 alone: "
        "both rounds have pq (1 + q), endless retries q (MaxRL)",
        1e-12,
    )

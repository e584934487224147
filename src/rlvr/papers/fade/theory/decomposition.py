"""The decomposition of the policy gradient (FADE, sec. 2)."""

from rlvr.theory._groups import by_successes, masses_of, weigh
from rlvr.theory._policy import PI, RIGHT, SCORE_F, SCORE_S, P, answers, scores
from rlvr.theory._tensors import gap
from rlvr.theory.statement import Chapter, Finding, fails, holds

section = Chapter("FADE")


@section.says("Sec. 2.1, Eq. 2", "enumeration over 5 answers, w_S = 1.3, w_F = 0.7")
def decomposition() -> Finding:
    """The policy gradient is w_S p times the mean score of successes, less w_F q times that of failures."""
    weight = 1.3 * RIGHT - 0.7 * (1 - RIGHT)
    return holds(gap((PI * weight) @ scores(PI), 1.3 * P * SCORE_S - 0.7 * (1 - P) * SCORE_F), 1e-12)


@section.says("Sec. 2.1-2.2, Eq. 3-6", "all 5^4 groups of four answers")
def group_update() -> Finding:
    """A group's update is G p q times the difference of its mean scores, for the centred reward."""
    groups = answers(4)
    rewards, grad = RIGHT[groups], scores(PI)[groups]
    update = (weigh("dr_grpo", rewards)[..., None] * grad).sum(1)
    p = rewards.mean(1)
    mixed = (p > 0) & (p < 1)
    rewards, grad, p = rewards[mixed], grad[mixed], p[mixed, None]
    score_s = (rewards[..., None] * grad).sum(1) / rewards.sum(1, keepdim=True)
    score_f = ((1 - rewards)[..., None] * grad).sum(1) / (1 - rewards).sum(1, keepdim=True)
    return holds(
        gap(update[mixed], 4 * p * (1 - p) * (score_s - score_f)),
        1e-12,
        "exact for the empirical p, not only `approximately`",
    )


@section.says("Sec. 2.2", "mean of r - mean(r) over groups of 16")
def mean_advantage() -> Finding:
    """For binary rewards the mean-only advantage has E[A] = p."""
    rewards = by_successes(16)
    mean = weigh("dr_grpo", rewards).mean(1)
    return fails(
        gap(mean, rewards.mean(1)),
        f"E[A] = 0 at every solve rate (largest |mean| {float(mean.abs().max()):.0e})",
        "for the reward: E[r] = p",
    )


@section.says("Sec. 2.2", "argmax of pq, p = k/16")
def medium_difficulty() -> Finding:
    """Mean-only GRPO peaks at medium difficulty, p = 1/2."""
    p, mass, _ = masses_of("dr_grpo")
    return holds(abs(float(p[mass.argmax()]) - 0.5), 0.0)

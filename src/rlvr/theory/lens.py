"""LENS' statements."""

from __future__ import annotations

import torch

from rlvr.estimators import Estimator
from rlvr.theory.statement import LOGITS, RIGHT, Chapter, Finding, conditional, fails, gap, generator, holds, scores

chapter = Chapter("LENS")
D = 0.9  # a difficulty above every probability of the policy


@chapter.says(
    "Theorem 1, Eq. 9",
    "The likelihood's gradient weighs each answer by r - (1 - r) pi / (D - pi).",
    "autograd of Eq. 8 a sample, 5 answers",
)
def gradient() -> Finding:
    worst = 0.0
    pi = LOGITS.softmax(0)
    for y in range(5):
        for r in (0.0, 1.0):
            theta = LOGITS.clone().requires_grad_()
            log_pi = theta.log_softmax(0)[y]
            loss = -(r * log_pi + (1 - r) * torch.log1p(-log_pi.exp() / D))
            found = torch.autograd.grad(loss, theta)[0]
            stated = -(r - (1 - r) * pi[y] / (D - pi[y])) * scores(pi)[y]
            worst = max(worst, gap(found, stated))
    return holds(worst)


def w(z: torch.Tensor) -> torch.Tensor:
    """Eq. 13."""
    return -torch.log1p(-z) / z - 1


@chapter.says(
    "Theorem 2, Eq. 11-13",
    "On-policy, the likelihood's gradient is that of accuracy less a confidence-weighted penalty.",
    "autograd of the enumerated value function, 5 answers; off-policy with a uniform sampler",
)
def value_function() -> Finding:
    theta = LOGITS.clone().requires_grad_()
    pi = theta.softmax(0)
    value = (pi * RIGHT).sum() - (pi * (1 - RIGHT) * w(pi / D)).sum()
    found = torch.autograd.grad(value, theta)[0]
    pi = pi.detach()
    weight = RIGHT - (1 - RIGHT) * pi / (D - pi)
    on = (pi * weight) @ scores(pi)
    off = (weight / 5) @ scores(pi)
    return conditional(gap(found, on), gap(found, off), "answers are drawn from the policy itself")


@chapter.says(
    "Appendix B.2, the line of w'",
    "w'(z) = (z / (1 - z) + D log(1 - z)) / z^2.",
    "autograd of w at D = 0.9; the line's result w + z w' = z / (1 - z) likewise",
)
def derivative_line() -> Finding:
    z = torch.linspace(0.05, 0.9, 50, dtype=torch.float64).requires_grad_()
    slope = torch.autograd.grad(w(z).sum(), z)[0]
    z = z.detach()
    printed = (z / (1 - z) + D * torch.log1p(-z)) / z**2
    assert gap(w(z) + z * slope, z / (1 - z)) < 1e-9
    return fails(
        gap(slope, printed), "D = 0.9, z in [0.05, 0.9]", "without the factor D; the result of the line is right"
    )


@chapter.says(
    "Sec. 4.3", "w is 0 at zero confidence, grows without bound towards z = 1, and increases between.", "float64 grid"
)
def penalty_shape() -> Finding:
    z = torch.linspace(1e-6, 1 - 1e-12, 100_001, dtype=torch.float64)
    values = w(z)
    rising = float((-values.diff()).clamp(min=0).max())
    return holds(
        max(rising if rising > 1e-9 else 0.0, float(values[0]) - 1e-6), 1e-6, f"w(1 - 1e-12) = {float(values[-1]):.1f}"
    )


@chapter.says(
    "Appendix B.1, consistency",
    "If the model holds the truth, the expected gradient weight is zero at it.",
    "p* - (1 - p*) p* / (1 - p*) on a grid of p*, and its value at p* = 1",
)
def consistency() -> Finding:
    p = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
    inside = float((p - (1 - p) * (p / (1 - p))).abs().max())
    return conditional(
        inside,
        1.0,
        "p* < 1. At p* = 1, the case of verifiable rewards, pi = D and the term is r = 1, not 0; the optimum then lies "
        "on the constraint pi <= D",
    )


def _groups(count: int, size: int):
    rng = generator(3)
    rewards = (
        torch.rand(count, size, generator=rng, dtype=torch.float64) < torch.rand(count, 1, generator=rng)
    ).double()
    lengths = torch.randint(5, 200, (count, size), generator=rng).double()
    logp = -lengths * (0.02 + 0.8 * torch.rand(count, size, generator=rng, dtype=torch.float64))
    return rewards, {"logp_old_PG": logp, "lengths_PG": lengths}


@chapter.says(
    "Sec. 5.1",
    "Calibrated rewards lie in [-1, 1], and after division by G every error of a mixed group stays below its mean.",
    "20,000 random groups of 8, both readings of D_imp",
)
def sign_invariance() -> Finding:
    rewards, given = _groups(20_000, 8)
    worst = 0.0
    for difficulty in ("sequence", "length_normalised"):
        weights = Estimator("lens", {"difficulty": difficulty}).advantages(rewards, given, {})
        mixed = (rewards.mean(1) > 0) & (rewards.mean(1) < 1)
        worst = max(worst, float((weights * (1 - rewards))[mixed].max()))
    return holds(max(0.0, worst), 0.0)


@chapter.says(
    "Sec. 5.1, final objective",
    "All-wrong groups get a small, nonzero signal: |A| is at most alpha (1/G) (1 - 1/G).",
    "20,000 random all-wrong groups of 16, alpha = 0.25 (the bound is ours)",
)
def negative_groups() -> Finding:
    rewards, given = _groups(20_000, 16)
    weights = Estimator("lens").advantages(torch.zeros_like(rewards), given, {})
    bound = 0.25 / 16 * 15 / 16
    smallest = float(weights.abs().amax(1).min())
    return holds(
        max(0.0, float(weights.abs().max()) - bound) if smallest > 0 else 1.0,
        1e-12,
        f"largest {float(weights.abs().max()):.4f}, bound {bound:.4f}, against GRPO weights of order 1",
    )


@chapter.says(
    "Sec. 5.1, Eq. 14",
    "The mean of r / pi over samples estimates 1 / D, the number of correct answers.",
    "exact expectation over 5 answers; the same with the length-normalised probability",
)
def importance_estimate() -> Finding:
    pi = LOGITS.softmax(0)
    raw = float((pi * RIGHT / pi).sum())
    normalised = float((pi * RIGHT / pi ** (1 / 20)).sum())
    return conditional(
        abs(raw - 2),
        abs(normalised - 2),
        "pi is the whole sequence's probability, as Eq. 14 prints it; with pi^(1/T), T = 20, which the rest of the "
        f"section uses, its mean is {normalised:.2f} and not 2",
    )


@chapter.says(
    "Appendix C",
    "With the policy as preference the penalty of an error is exactly the correctness rate of the policy.",
    "1 / (D - 1) with D = 1 / p, against p",
)
def policy_preference() -> Finding:
    p = torch.linspace(0.05, 0.9, 18, dtype=torch.float64)
    rewards = torch.tensor([[1.0, 0, 0, 0]], dtype=torch.float64)
    contrastive = -float(Estimator("binary_contrastive").advantages(rewards, {}, {})[0, 1])
    assert abs(contrastive - 0.25 / 0.75) < 1e-12
    return fails(
        gap(1 / (1 / p - 1), p),
        "it is p / (1 - p), the odds: 9.0 at p = 0.9",
        "`odds` for `rate`; the weight then is FADE's binary contrastive",
    )

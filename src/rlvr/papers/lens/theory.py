"""LENS' statements."""

import torch
from torch.func import grad

from rlvr.estimators import lens
from rlvr.theory._groups import weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, scores
from rlvr.theory._tensors import float64, gap, generator
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("LENS", place=3)
D = 0.9  # a difficulty above every probability of the policy


@chapter.says("Theorem 1, Eq. 9", "autograd of Eq. 8 a sample, 5 answers")
def gradient() -> Finding:
    """The likelihood's gradient weighs each answer by r - (1 - r) pi / (D - pi)."""

    def loss(theta: torch.Tensor, y: int, r: float) -> torch.Tensor:
        log_pi = theta.log_softmax(0)[y]
        return -(r * log_pi + (1 - r) * torch.log1p(-log_pi.exp() / D))

    worst = 0.0
    for y in range(5):
        for r in (0.0, 1.0):
            stated = -(r - (1 - r) * PI[y] / (D - PI[y])) * scores(PI)[y]
            worst = max(worst, gap(grad(loss)(LOGITS, y, r), stated))
    return holds(worst)


def w(z: torch.Tensor) -> torch.Tensor:
    """Eq. 13."""
    return -torch.log1p(-z) / z - 1


@chapter.says(
    "Theorem 2, Eq. 11-13", "autograd of the enumerated value function, 5 answers; off-policy with a uniform sampler"
)
def value_function() -> Finding:
    """On-policy, the likelihood's gradient is that of accuracy less a confidence-weighted penalty."""

    def value(theta: torch.Tensor) -> torch.Tensor:
        pi = theta.softmax(0)
        return (pi * RIGHT).sum() - (pi * (1 - RIGHT) * w(pi / D)).sum()

    gradient = grad(value)(LOGITS)
    weight = RIGHT - (1 - RIGHT) * PI / (D - PI)
    on_policy, uniform = (PI * weight) @ scores(PI), (weight / 5) @ scores(PI)
    return holds(
        gap(gradient, on_policy),
        1e-12,
        f"on-policy, as the theorem says; for answers drawn uniformly the two differ by {gap(gradient, uniform):.2f}",
    )


@chapter.says(
    "Appendix B.2, the line of w'", "autograd of w at D = 0.9; the line's result w + z w' = z / (1 - z) likewise"
)
def derivative_line() -> Finding:
    """w'(z) = (z / (1 - z) + D log(1 - z)) / z^2."""
    z = torch.linspace(0.05, 0.9, 50, dtype=torch.float64)
    slope = grad(lambda z: w(z).sum())(z)
    printed = (z / (1 - z) + D * torch.log1p(-z)) / z**2
    assert gap(w(z) + z * slope, z / (1 - z)) < 1e-9
    return fails(gap(slope, printed), "D = 0.9, z in [0.05, 0.9]", "without the factor D; the line's result is right")


@chapter.says("Sec. 4.3", "float64 grid")
def penalty_shape() -> Finding:
    """w is 0 at zero confidence, grows without bound towards z = 1, and increases between."""
    z = torch.linspace(1e-6, 1 - 1e-12, 100_001, dtype=torch.float64)
    values = w(z)
    rising = float((-values.diff()).clamp(min=0).max())
    return holds(
        max(rising if rising > 1e-9 else 0.0, float(values[0]) - 1e-6), 1e-6, f"w(1 - 1e-12) = {float(values[-1]):.1f}"
    )


@chapter.says(
    "Appendix B.1, consistency",
    "Eq. 9 enumerated over 5 answers drawn uniformly: fractional p*, and p* in {0, 1}; drawn from pi* for comparison",
)
def consistency() -> Finding:
    """If the model class contains the truth, the likelihood's expected gradient is zero at it."""

    def largest(p: torch.Tensor, sampler: torch.Tensor) -> float:
        """Of the entries of the expected gradient."""
        safe = torch.where(p < 1, 1 - p, torch.ones_like(p))
        term = torch.where(p < 1, p - (1 - p) * p / safe, torch.ones_like(p))  # where p = 1, r = 1 always
        return float(((sampler * term) @ scores(p / p.sum())).abs().max())

    uniform = torch.full((5,), 0.2, dtype=torch.float64)
    other = torch.tensor([0.5, 0.1, 0.2, 0.1, 0.1]).double()
    assert largest(RIGHT, RIGHT / RIGHT.sum()) < 1e-12
    return conditional(
        largest(float64([0.9, 0.5, 0.3, 0.2, 0.1]), uniform),
        largest(RIGHT, other),
        "p* < 1, or answers drawn from the truth itself. With verifiable rewards (p* in {0, 1}) and another sampler "
        "the term of a correct answer is r = 1, and the gradient at the truth is not zero. The proof shows a "
        "stationary point; the text says maximiser",
    )


def _random_groups(count: int, size: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Rewards, and the inputs of LENS."""
    rng = generator(3)
    rewards = (
        torch.rand(count, size, generator=rng, dtype=torch.float64) < torch.rand(count, 1, generator=rng)
    ).double()
    lengths = torch.randint(5, 200, (count, size), generator=rng).double()
    logp = -lengths * (0.02 + 0.8 * torch.rand(count, size, generator=rng, dtype=torch.float64))
    return rewards, {"logp_old_PG": logp, "lengths_PG": lengths}


@chapter.says("Sec. 5.1", "20,000 random groups of 8, both readings of D_imp")
def sign_invariance() -> Finding:
    """Calibrated rewards lie in [-1, 1], and after division by G correct rollouts of a mixed group stay above its mean
    and errors below."""
    rewards, inputs = _random_groups(20_000, 8)
    mixed, worst = (rewards.mean(1) > 0) & (rewards.mean(1) < 1), 0.0
    for difficulty in ("sequence", "length_normalised"):
        penalty = lens.penalties(rewards, inputs["logp_old_PG"], inputs["lengths_PG"], difficulty)
        weights = weigh("lens", rewards, inputs, difficulty=difficulty)[mixed]
        wrong = (rewards[mixed] == 0) & (weights >= 0) | (rewards[mixed] == 1) & (weights <= 0)
        worst = max(worst, float(penalty.max()) - 1, float(-penalty.min()), float(wrong.sum()))
    return holds(max(0.0, worst), 1e-12)


@chapter.says("Sec. 5.1, final objective", "20,000 random all-wrong groups of 16, alpha = 0.25 (the bound is ours)")
def negative_groups() -> Finding:
    """All-wrong groups whose confidences differ get a small, nonzero signal: |A| is at most alpha (1/G) (1 - 1/G)."""
    rewards, inputs = _random_groups(20_000, 16)
    weights = weigh("lens", torch.zeros_like(rewards), inputs)
    bound = 0.25 / 16 * 15 / 16
    smallest = float(weights.abs().amax(1).min())
    return holds(
        max(0.0, float(weights.abs().max()) - bound) if smallest > 0 else 1.0,
        1e-12,
        f"largest {float(weights.abs().max()):.4f}, bound {bound:.4f}, against GRPO weights of order 1",
    )


@chapter.says("Sec. 5.1, Eq. 14", "exact expectation over 5 answers; the same with the length-normalised probability")
def importance_estimate() -> Finding:
    """The mean of r / pi over samples estimates 1 / D, the number of correct answers."""
    raw = float((PI * RIGHT / PI).sum())
    normalised = float((PI * RIGHT / PI ** (1 / 20)).sum())
    return holds(
        abs(raw - 2),
        1e-12,
        "with the whole sequence's probability, as Eq. 14 prints it; with pi^(1/T), T = 20, which the rest of the "
        f"section uses, the mean is {normalised:.2f} and not 2",
    )


@chapter.says("Appendix C", "1 / (D - 1) with D = 1 / p, against the odds p / (1 - p) and the rate p")
def policy_preference() -> Finding:
    """With the policy as preference the weight of an error is exactly `the correction rate` of the policy."""
    p = torch.linspace(0.05, 0.9, 18, dtype=torch.float64)
    weight = 1 / (1 / p - 1)
    rewards = float64([[1.0, 0, 0, 0]])
    assert abs(-float(weigh("binary_contrastive", rewards)[0, 1]) - 0.25 / 0.75) < 1e-12
    return conditional(
        gap(weight, p / (1 - p)),
        gap(weight, p),
        "the term, which the paper does not define, means the odds p / (1 - p), and not the rate p; the weight is "
        "FADE's binary contrastive",
    )


@chapter.says("Sec. 4.1, after Eq. 5", "p* in {0, 1} with one and two correct answers; fractional p*")
def difficulty_range() -> Finding:
    """The difficulty D, one over the sum of p* over answers, lies in (0, 1]."""
    exact = [1 / float(torch.tensor(p).sum()) for p in ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0])]
    fractional = 1 / sum((0.3, 0.2, 0.1))
    return conditional(
        max(0.0, max(exact) - 1),
        fractional - 1,
        "p* sums to 1 at least, as with a correct answer; for p* = (0.3, 0.2, 0.1), which the section allows, D = "
        f"{fractional:.2f}",
    )

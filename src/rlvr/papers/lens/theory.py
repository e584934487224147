"""LENS' statements."""

import itertools
import math

import torch
from scipy import stats
from torch.func import grad

from rlvr.estimators import lens
from rlvr.theory._groups import by_successes, weigh
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
    """On-policy, the gradient of the log-likelihood L is that of accuracy less a confidence-weighted penalty."""

    def value(theta: torch.Tensor) -> torch.Tensor:
        pi = theta.softmax(0)
        return (pi * RIGHT).sum() - (pi * (1 - RIGHT) * w(pi / D)).sum()

    gradient = grad(value)(LOGITS)
    weight = RIGHT - (1 - RIGHT) * PI / (D - PI)
    on_policy, uniform = (PI * weight) @ scores(PI), (weight / 5) @ scores(PI)
    return conditional(
        gap(gradient, on_policy),
        gap(gradient, -on_policy),
        "L is the log-likelihood, as in appendix B.2, and so minus the loss that Eq. 8 minimises and Eq. 9 "
        "differentiates: with L as in Eq. 8-9 the two gradients are opposite. On-policy, as the theorem says; for "
        f"answers drawn uniformly they differ by {gap(gradient, uniform):.2f}",
        1e-12,
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


@chapter.says(
    "Sec. 4.3",
    "float64: the power series sum z^n / (n + 1), whose terms all increase, against Eq. 13; w(1 - 2^-m) >= m ln 2 - 1",
)
def penalty_shape() -> Finding:
    """w is 0 at zero confidence, grows without bound towards z = 1, and increases between."""
    z = torch.linspace(0.01, 0.9, 90, dtype=torch.float64)
    series = sum((z**n / (n + 1) for n in range(1, 400)), torch.zeros_like(z))
    ends = float64([1 - 2.0**-m for m in range(1, 53)])
    bounds = float64([m * math.log(2) - 1 for m in range(1, 53)])
    return holds(
        max(gap(w(z), series), float((bounds - w(ends)).clamp(min=0).max())),
        1e-9,
        f"as the logarithm of 1 / (1 - z): w(1 - 2^-52) = {float(w(ends)[-1]):.1f}",
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


def _weights(rewards: torch.Tensor, confidence: torch.Tensor) -> torch.Tensor:
    """LENS' weights (alpha = 0.25) at length-normalised probabilities of responses of 200 tokens."""
    lengths = torch.full_like(confidence, 200.0)
    return weigh("lens", rewards, {"logp_old_PG": lengths * confidence.log(), "lengths_PG": lengths})


def _extreme_groups(rollouts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rewards and weights of mixed groups: each number of successes, and of errors with penalty 1, the others' 0."""
    rows = [(k, n) for k in range(1, rollouts) for n in range(rollouts - k + 1)]
    place = torch.arange(rollouts)
    rewards = torch.stack([(place < k).double() for k, _ in rows])
    confidence = torch.stack([torch.where(place < k + n, 0.9, 1e-9).double() for k, n in rows])
    return rewards, _weights(rewards, confidence)


@chapter.says(
    "Sec. 5.1",
    "20,000 random groups of 8, both readings of D_imp; and groups of 8 and 16 whose errors have penalty 0 or 1, each "
    "number of them",
)
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
    for rollouts in (8, 16):
        rewards, weights = _extreme_groups(rollouts)
        worst = max(worst, float(((rewards == 0) & (weights >= 0) | (rewards == 1) & (weights <= 0)).sum()))
    return holds(
        max(0.0, worst),
        1e-12,
        "one success and G - 1 errors of penalty 1 have the mean 1 / G^2, the least there is, and no error is above 0",
    )


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


GRID = (0.75, 0.80, 0.85, 0.90)  # length-normalised probabilities of an LLM's responses
NARROW = (0.81, 0.82, 0.83, 0.84)
EXTREMES = (0.75, 0.90)  # the law in that range whose confidences differ most


def _errors(values: tuple[float, ...], count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All multisets of `count` confidences, each drawn from `values` with equal chance, and their probabilities."""
    rows = list(itertools.combinations_with_replacement(range(len(values)), count))
    ways = [math.factorial(count) / math.prod(math.factorial(row.count(v)) for v in set(row)) for row in rows]
    return float64(values)[torch.tensor(rows)], float64(ways) / len(values) ** count


def size_all_wrong(values: tuple[float, ...], rollouts: int = 16) -> tuple[float, float]:
    """The expected sum of |A|, and of A^2, of an all-wrong group."""
    confidence, chance = _errors(values, rollouts)
    a = _weights(torch.zeros_like(confidence), confidence)
    return float(chance @ a.abs().sum(1)), float(chance @ (a**2).sum(1))


def size_mixed(values: tuple[float, ...], successes: int, rollouts: int = 16) -> tuple[float, float]:
    """The same of a mixed group. Of the successes' confidences only the largest matters, by D = 2 max pibar."""
    errors, chance = _errors(values, rollouts - successes)
    absolute = squared = 0.0
    for place, top in enumerate(values):
        at_top = ((place + 1) / len(values)) ** successes - (place / len(values)) ** successes
        confidence = torch.cat([torch.full((len(errors), successes), top).double(), errors], dim=1)
        a = _weights(by_successes(rollouts)[successes].expand_as(confidence), confidence)
        absolute += at_top * float(chance @ a.abs().sum(1))
        squared += at_top * float(chance @ (a**2).sum(1))
    return absolute, squared


def negative_share(values: tuple[float, ...], successes: int, all_wrong: float = 0.45) -> tuple[float, float]:
    """The share of all-wrong groups in a batch's summed |A|, and A^2; the others have so many successes."""
    negative, mixed = size_all_wrong(values), size_mixed(values, successes)
    shares = [all_wrong * n / (all_wrong * n + (1 - all_wrong) * m) for n, m in zip(negative, mixed, strict=True)]
    return shares[0], shares[1]


@chapter.says(
    "Sec. 5.1, final objective (ours)",
    "G = 16, alpha = 0.25, 45 % of the groups all wrong, as sec. 3.2 has early in training, the others with k of 16 "
    "right, all k: enumeration of confidences on a grid from 0.75 to 0.90; the bound over groups whose penalties are 0 "
    "or 1",
)
def negative_groups_share() -> Finding:
    """As printed, with 1/G in both kinds of groups, an all-wrong group has at most alpha / 2 of summed |A|, less than
    1/60 of a mixed one: with 45 % all-wrong groups their share of a batch is below 1.5 %."""
    half = torch.cat([torch.full((8,), 0.9), torch.full((8,), 1e-9)]).double()[None]
    most = float(_weights(torch.zeros(1, 16).double(), half).abs().sum())  # convex in the penalties: at a vertex
    _, weights = _extreme_groups(16)
    least = float(weights.abs().sum(1).min())
    rewards, inputs = _random_groups(5_000, 16)
    mixed = (rewards.mean(1) > 0) & (rewards.mean(1) < 1)
    assert float(weigh("lens", rewards, inputs)[mixed].abs().sum(1).min()) > least - 1e-9
    grid = [negative_share(GRID, k) for k in range(1, 16)]
    widest = [negative_share(EXTREMES, k) for k in range(1, 16)]
    narrow = [100 * negative_share(NARROW, k)[0] for k in range(1, 16)]
    absolute, squared = ([100 * share[i] for share in grid] for i in (0, 1))
    top, bound = 100 * max(share[0] for share in widest), 100 * 0.45 * most / (0.45 * most + 0.55 * least)
    return holds(
        max(0.0, most - 0.125, most - least / 60, bound - 1.5, top - bound),
        1e-9,
        f"for confidences of 0.75 to 0.90 the share of summed |A| is {min(absolute):.2f} to {max(absolute):.2f} % on "
        f"a uniform grid, {min(narrow):.2f} to {max(narrow):.2f} % if all are 0.81 to 0.84, at most {top:.2f} % where "
        f"they differ most, and at most {bound:.1f} % for any confidences; of summed A^2 at most {max(squared):.4f} % "
        "on the grid. If only a share x of the others is mixed, the share is about 1 / x times as large. A group's "
        f"|A| sums to {size_all_wrong(GRID)[0]:.4f}, against {size_mixed(GRID, 1)[0]:.1f} to "
        f"{size_mixed(GRID, 8)[0]:.1f} in mixed groups. Sec. 5.1 motivates 1/G by mixed groups only",
    )


@chapter.says(
    "Sec. 5.1, Eq. 14",
    "exact expectation over 5 answers; D_imp itself over all groups of 16 with a success; and the length-normalised "
    "probability",
)
def importance_estimate() -> Finding:
    """D_imp, one over the mean of r / pi over samples, estimates the difficulty D, one over the number of correct
    answers."""
    raw = float((PI * RIGHT / PI).sum())
    normalised = float((PI * RIGHT / PI ** (1 / 20)).sum())
    a, b = float(PI[0]), float(PI[1])
    mean = chance = 0.0
    for first, second in itertools.product(range(17), repeat=2):
        if 0 < first + second <= 16:
            probability = float(stats.multinomial.pmf([first, second, 16 - first - second], 16, [a, b, 1 - a - b]))
            mean += probability * 16 / (first / a + second / b)
            chance += probability
    mean /= chance
    return conditional(
        abs(raw - 2),
        mean - 0.5,
        "its inverse is meant, or G is large: the mean of r / pi is 1 / D = 2 exactly, with the whole sequence's "
        f"probability as Eq. 14 prints it; D_imp has the mean {mean:.3f} for D = 0.5 at G = 16, by Jensen's "
        "inequality. With pi^(1/T), T = 20, which the rest of the section uses, the mean of r / pi is "
        f"{normalised:.2f}",
        1e-12,
    )


@chapter.says(
    "Appendix C, Eq. 20-23",
    "autograd of Eq. 22 a sample, 5 answers: a fixed preference rho, and the policy itself as preference",
)
def preference_gradient() -> Finding:
    """With a preference rho the likelihood's gradient weighs an error by -pi / (D rho - pi)."""
    rho = float64([1.0, 1.5, 0.8, 1.2, 0.6])

    def slope(y: int, preference) -> torch.Tensor:
        """The gradient of the error's term of Eq. 22."""
        return grad(lambda theta: torch.log1p(-theta.softmax(0)[y] / (D * preference(theta)[y])))(LOGITS)

    fixed = max(gap(slope(y, lambda _: rho), -PI[y] / (D * rho[y] - PI[y]) * scores(PI)[y]) for y in range(5))
    rate, y = 0.4, 2  # the solve rate, D = 1 / rate
    moving = grad(lambda theta: torch.log1p(-theta.softmax(0)[y] * rate / theta.softmax(0)[y]))(LOGITS)
    stated = -1 / (1 / rate - 1) * scores(PI)[y]
    return conditional(
        fixed,
        gap(moving, stated),
        "rho does not depend on theta. The appendix's second example does: with rho = pi_theta the error's term of "
        "Eq. 22 is the constant log(1 - 1 / D), whose gradient is 0 and not the stated 1 / (D - 1) grad log pi, unless "
        "rho is held fixed",
        1e-12,
    )


@chapter.says(
    "Appendix C and sec. 5.1",
    "1 / (a^n - 1) against 1 / (n (a - 1)), a = D^(1/n) gamma / pibar: at a = 2, as for D = 2 max pibar, and over all "
    "n from 10 to 4,096 where the reward is within [-1, 0]",
)
def length_preference() -> Finding:
    """The length-normalised probability is equivalent to a calibrated reward that encodes a length preference
    gamma^n."""

    def ratio(log_power: float, n: int) -> float:
        """The approximation over the derived reward, at a^n = exp(log_power)."""
        return math.expm1(log_power) / (n * math.expm1(log_power / n))

    lengths = (10, 30, 100, 300, 1000, 4096)
    powers = [math.log(2) * 1.1**step for step in range(70)]  # a^n from 2 on
    least = min(ratio(power, n) for n in lengths for power in powers)
    return fails(
        least - 1,
        "it needs (a^n - 1)^-1 ~ 1 / (n (a - 1)), and a^n - 1 = (a - 1) (1 + a + ... + a^(n-1)) is larger: at a = 2 "
        f"and n = 100 the derived reward is -{1 / math.expm1(100 * math.log(2)):.1e} and the substituted one -0.01; at "
        f"a = 1.01 and n = 500 they differ by a factor of {ratio(500 * math.log(1.01), 500):.0f}. Wherever the derived "
        "reward is within [-1, 0], as sec. 5.1 asks, and n >= 10, the approximation is too large by "
        f"{100 * (least - 1):.0f} % at least. The derived form also has the factor 1 / |o|, sec. 5.1 has 1 / G",
        "for n (a - 1) far below 1, where the reward is far above 1 in size",
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

"""ACE's statements (arXiv version of 2026)."""

import numpy as np
import torch
from torch.func import grad
from torch.nn import functional as F

from rlvr.estimators import INPUTS, Estimator
from rlvr.theory._groups import mixed_groups, weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, scores
from rlvr.theory._tensors import float64, gap, normal
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("ACE", place=1)
REFERENCE = float64([0.1, 0.2, -0.4, 0.3, 0.0])


def _penalty(theta: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """R_sel of one prompt (Eq. 11)."""
    log_pi, log_ref = theta.log_softmax(0), REFERENCE.log_softmax(0)
    return weight * (log_pi.exp() * F.softplus(log_pi - log_ref))[RIGHT == 0].sum()


def _weight(theta: torch.Tensor) -> torch.Tensor:
    p = theta.softmax(0) @ RIGHT
    return (p / (1 - p)).sqrt()  # |A^-| of GRPO


@chapter.says("Theorem 1, Eq. 12", "autograd of Eq. 11 against enumeration, 5 answers, float64")
def decomposition() -> Finding:
    """The extra gradient of ACE is minus alpha times that of the selective regulariser, plus alpha times a residual."""
    wrong, weight = 1 - RIGHT, _weight(LOGITS)
    c = LOGITS.log_softmax(0) - REFERENCE.log_softmax(0)
    extra = -weight * (PI * wrong * F.softplus(c)) @ scores(PI)
    residual = weight * (PI * wrong * torch.sigmoid(c)) @ scores(PI)
    stopped = grad(lambda theta: _penalty(theta, weight))(LOGITS)
    through = grad(lambda theta: _penalty(theta, _weight(theta)))(LOGITS)
    return conditional(
        gap(extra, -stopped + residual),
        gap(extra, -through + residual),
        "|A^-| is fixed in the regulariser, as in the proof; differentiated too, it makes the sides differ by the "
        "deviation. The gradients have the ascent sign",
    )


def _selective(pi: torch.Tensor, reference: torch.Tensor) -> tuple[float, float]:
    """R_sel (Eq. 11) and its approximation (Eq. 14) of one prompt, over the weight |A^-|."""
    c = (pi / reference).log()
    wrong = RIGHT == 0
    return float((pi * F.softplus(c))[wrong].sum()), float((pi * c)[wrong & (c > 0)].sum())


@chapter.says(
    "Sec. 4.4, Eq. 14",
    "both sides, 5 answers, with one error of probability 0.54 at 6 nats and the others at 1 %; and near the reference",
)
def reverse_kl() -> Finding:
    """The selective regulariser is about the reverse KL divergence restricted to overconfident errors."""
    pi = float64([0.24, 0.20, 0.54, 0.01, 0.01])
    full, stated = _selective(pi, (pi.log() - float64([0.0, 0.0, 6.0, 0.0, 0.0])).softmax(0))
    near_full, near_stated = _selective(PI, (PI.log() - float64([0.0, 0.0, 0.05, -0.05, -0.05])).softmax(0))
    return conditional(
        abs(stated / full - 1),
        abs(near_stated / near_full - 1),
        "most of the errors' mass is at c >> 0: softplus(c) is within 0.5 % of c from 4 nats on, and 31 % above it at "
        f"c = 1. Eq. 14 drops errors with c <= 0, and softplus is up to 0.69 there: with |c| < 0.1, R_sel is "
        f"{near_full:.3f} and Eq. 14 gives {near_stated:.3f}",
        0.02,
    )


def _passes(rewards: list[int], kl: bool, ace: bool) -> set[tuple[str, int]]:
    """(model, rollout) of the log-probabilities that a step of Algorithm 1 on one group needs."""
    needed = {(model, i) for model in ("old", "policy") for i in range(len(rewards))}  # the clipped ratio of Eq. 2
    if kl:
        needed |= {("reference", i) for i in range(len(rewards))}
    if ace:
        needed |= {(model, i) for model in ("policy", "reference") for i, r in enumerate(rewards) if r == 0}
    return needed


def _needs_reference(name: str) -> bool:
    return any(INPUTS[need].needs_reference for need in Estimator(name).needs)


@chapter.says(
    "Sec. 4.1 and appendix C, compute overhead",
    "the log-probabilities that a step of Alg. 1 needs, counted for groups of 8 with 1 to 7 successes, with and "
    "without a KL term",
)
def zero_compute() -> Finding:
    """c is a by-product of standard RLVR training, so that ACE needs zero additional compute."""
    assert _needs_reference("ace") and not _needs_reference("grpo")

    def extra(successes: int, kl: bool) -> int:
        rewards = [1] * successes + [0] * (8 - successes)
        return len(_passes(rewards, kl, ace=True)) - len(_passes(rewards, kl, ace=False))

    with_kl, without = ([extra(successes, kl) for successes in range(1, 8)] for kl in (True, False))
    return conditional(
        max(with_kl),
        max(without) / 8,
        "the loss has a KL term to pi_ref, as GRPO's in Eq. 2. DAPO's (Yu et al. 2025) has none: there ACE adds a "
        f"forward pass of pi_ref over each error, {min(without)} to {max(without)} of 8 rollouts in a mixed group, to "
        "two passes per rollout (old and updated policy), and keeps pi_ref in memory. A trainer that scores whole "
        "batches adds one per rollout",
    )


@chapter.says("Sec. 4.2, Eq. 7", "float64")
def factors() -> Finding:
    """c = 2, 0, -3 give the factors 1 + 2.13, 1 + 0.69, 1 + 0.05 at alpha = 1."""
    factor = F.softplus(float64([2.0, 0.0, -3.0]))
    return holds(gap(factor, float64([2.13, 0.69, 0.05])), 5e-3, "to the digits printed")


@chapter.says("Sec. 4.2, Eq. 7", "slope on a grid")
def monotone() -> Finding:
    """The penalty of an error is strictly increasing in its confidence c."""
    c = torch.linspace(-20, 20, 4001, dtype=torch.float64)
    inputs = {"log_ratio_PG": torch.cat([c[:1], c])[None]}
    rewards = float64([[1.0] + [0.0] * len(c)])
    penalties = -weigh("ace", rewards, inputs, aggregation="sum")[0, 1:]
    return holds(float((penalties.diff() <= 0).sum()), 0.0)


@chapter.says(
    "Sec. 4.2, difficulty-adaptive scaling",
    "p = k/16, random c in each rollout: |A^-| against sqrt(p / (1 - p)) (1 + f)",
)
def difficulty_scaling() -> Finding:
    """ACE inherits GRPO's scaling by difficulty, |A^-| = p / sigma = sqrt(p / (1 - p)): errors on easy prompts are
    penalised more."""
    rewards, p = mixed_groups(16)
    c = normal(15, 16)
    penalties = -weigh("ace", rewards, {"log_ratio_PG": c}, aggregation="sum")
    scale = (p / (1 - p)).sqrt()
    wrong = rewards == 0
    together = 16 * (p * (1 - p)).sqrt()
    assert gap((weigh("grpo", rewards).abs() * wrong).sum(1), together) < 1e-12 and bool((scale.diff() > 0).all())
    return holds(
        gap(penalties[wrong], (scale[:, None] * (1 + F.softplus(c)))[wrong]),
        1e-12,
        f"from {float(scale[0]):.2f} at p = 1/16 to {float(scale[-1]):.2f} at 15/16, for each error; a prompt's errors "
        "together have G sqrt(p (1 - p)), at equal c largest at p = 1/2",
    )


@chapter.says("Sec. 1 and 4.2", "the factor for c in [-0.05, 0.05]")
def exploratory() -> Finding:
    """Exploratory errors, those with c near 0, keep (largely) the weight that GRPO gives them."""
    c = torch.linspace(-0.05, 0.05, 101, dtype=torch.float64)
    factor = 1 + F.softplus(c)
    return fails(
        float((factor - 1).max()),
        f"at alpha = 1 the factor lies between {float(factor.min()):.3f} and {float(factor.max()):.3f}: every error "
        "is scaled alike, as by AsymGRPO with delta = 0.591",
        "with ReLU for softplus the factor there is at most 1.05",
    )


@chapter.says("Appendix A, remark 2", "float64 on a grid")
def residual_share() -> Finding:
    """For c in [1, 3] sigmoid(c) / softplus(c) lies between 31 and 56 %."""
    c = torch.linspace(1, 3, 2001, dtype=torch.float64)
    share = torch.sigmoid(c) / F.softplus(c)
    ends = torch.stack([share.min(), share.max()])
    return holds(gap(ends, float64([0.31, 0.56])), 5e-3, "to the digits printed")


def _laws(count: int = 20_000):
    """Random discrete laws (u, phi, weights), phi > 0."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        size = rng.integers(2, 6)
        yield rng.normal(size=size), np.exp(rng.normal(size=size)), rng.dirichlet(np.ones(size))


def _covariance(w, x, y) -> float:
    return float(w @ (x * y) - (w @ x) * (w @ y))


@chapter.says("Appendix B, proposition 1", "20,000 random discrete laws")
def second_moment() -> Finding:
    """ACE strictly increases the mean squared gradient norm of errors, for every alpha > 0."""
    increase = [float(w @ ((1 + a * phi) ** 2 * u**2) - w @ u**2) for u, phi, w in _laws() for a in (0.1, 1.0, 5.0)]
    detail = f"alpha = 0.1, 1 and 5; smallest increase {min(increase):.1e}"
    return holds(float(sum(x <= 0 for x in increase)), 0.0, detail)


@chapter.says("Appendix B, theorem 2a", "20,000 random discrete laws where Cov(phi, u^2) > 0, alpha = 0.1, 1 and 5")
def variance_grows() -> Finding:
    """Where Cov(phi, u^2) > 0 the variance along the signal grows, for every alpha > 0."""
    worst = 0.0
    for u, phi, w in _laws():
        u = u if w @ u > 0 else -u
        if _covariance(w, phi, u**2) > 0:
            for alpha in (0.1, 1.0, 5.0):
                grown = (1 + alpha * phi) * u
                worst = max(worst, _covariance(w, u, u) - _covariance(w, grown, grown))
    return holds(
        worst,
        1e-12,
        "the proof says `under typical conditions` and needs none: Var = Var_std + 2 alpha D + alpha^2 Var(phi u), "
        "and D = E[phi] (E*[u^2] - mu E*[u]) with E* weighted by phi; Cov(phi, u^2) > 0 is E*[u^2] > E[u^2] >= mu^2, "
        "so D > 0 by Cauchy-Schwarz",
    )


COUNTEREXAMPLE = {"u": (0.681, 0.845, -0.476), "phi": (0.421, 5.463, 3.71), "weights": (0.315, 0.421, 0.263)}


@chapter.says("Appendix B, theorem 2b", "the ratio itself, at alpha = 1e-3 and 0, on a law of three points")
def quality_improves() -> Finding:
    """Under the same assumption, and Var[u] > E[u]^2, ACE improves the ratio signal^2 / variance for small alpha."""
    u, phi, w = (np.array(COUNTEREXAMPLE[key]) for key in ("u", "phi", "weights"))
    w = w / w.sum()

    def ratio(alpha: float) -> float:
        grown = (1 + alpha * phi) * u
        return float(w @ grown) ** 2 / _covariance(w, grown, grown)

    q, change = ratio(0.0), ratio(1e-3) - ratio(0.0)
    assumed = _covariance(w, phi, u) > 0 and _covariance(w, phi, u**2) > 0 and q < 1
    return fails(
        change if assumed and change < 0 else 0.0,
        f"u = {COUNTEREXAMPLE['u']}, phi = {COUNTEREXAMPLE['phi']}, weights {COUNTEREXAMPLE['weights']}: both "
        f"covariances positive, Q = {q:.4f} < 1, and Q at alpha = 1e-3 is {ratio(1e-3):.4f}",
        "for Gaussian u and phi = a + b u, the case that the proof verifies (a phi that is negative with some "
        "probability)",
    )


@chapter.says("Appendix B, Eq. 35 and 53", "Gauss-Hermite quadrature, exact for these polynomials")
def gaussian_linear() -> Finding:
    """For Gaussian u and phi = a + b u: D = 2 b mu s^2 + a s^2, and C mu / Cov(phi, u^2) = 1/2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    w, worst = weights / weights.sum(), 0.0
    for mu, s, a, b in ((0.3, 1.0, 2.0, 0.5), (0.7, 2.0, 1.0, 0.1), (1.5, 0.4, 3.0, 1.2)):
        u = mu + s * nodes
        phi = a + b * u
        first = w @ (phi * u**2) - (w @ u) * (w @ (phi * u))
        worst = max(worst, abs(first - (2 * b * mu * s**2 + a * s**2)))
        worst = max(worst, abs(_covariance(w, phi, u) * mu / _covariance(w, phi, u**2) - 0.5))
    return holds(worst, 1e-10)


@chapter.says("Sec. 4.5", "a law of two points; theorem 2a's assumption for comparison")
def variance_necessarily() -> Finding:
    """ACE necessarily increases the directional variance, as a consequence of weights above 1."""
    u, phi, w = np.array([1.0, 2.0]), np.array([1.0, 0.001]), np.array([0.5, 0.5])
    grown = (1 + phi) * u
    before, after = _covariance(w, u, u), _covariance(w, grown, grown)
    return conditional(
        0.0,
        before - after,
        "Cov(phi, u^2) > 0, as in theorem 2a. With u = (1, 2), phi = (1, 0.001), equal weights and alpha = 1 it "
        f"falls from {before:.2f} to {after:.1e}",
    )


@chapter.says("Sec. 4.2 and appendix D", "random groups of 8, three base estimators")
def alpha_zero() -> Finding:
    """alpha = 0 is the base method, to the bit."""
    rewards = (normal(200, 8) > 0.4).double()
    inputs = {"log_ratio_PG": normal(200, 8, seed=1), "lengths_PG": torch.full((200, 8), 9.0, dtype=torch.float64)}
    bases = ("grpo", "dr_grpo", "rloo")
    gaps = [gap(weigh("ace", rewards, inputs, alpha=0.0, base=base), weigh(base, rewards)) for base in bases]
    return holds(max(gaps), 0.0)

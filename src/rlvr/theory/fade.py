"""FADE's statements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import integrate, optimize, special, stats

from rlvr import estimators
from rlvr.estimators import Estimator
from rlvr.theory.statement import (
    LOGITS,
    RIGHT,
    Chapter,
    Finding,
    by_successes,
    class_masses,
    conditional,
    fails,
    gap,
    generator,
    holds,
    normal,
    scores,
)

chapter = Chapter("FADE")
PI = LOGITS.softmax(0)
P = float(PI @ RIGHT)
SCORE_S = (PI * RIGHT) @ scores(PI) / P
SCORE_F = (PI * (1 - RIGHT)) @ scores(PI) / (1 - P)


def _masses(name: str, groups: int = 16, state: dict[str, float] | None = None, **settings):
    """(p, m_S, m_F) of an estimator by enumeration, k = 0 to G successes."""
    rewards = by_successes(groups)
    weights = Estimator(name, {**estimators.signature(name).exact, **settings}).advantages(rewards, {}, state or {})
    return rewards.mean(1), *class_masses(weights, rewards)


def _worst(name: str, stated_s, stated_f, inside: bool = False, **settings) -> float:
    p, mass_s, mass_f = _masses(name, **settings)
    chosen = (p > 0) & (p < 1) if inside else torch.ones_like(p, dtype=torch.bool)
    return max(gap(mass_s[chosen], stated_s(p)[chosen]), gap(mass_f[chosen], stated_f(p)[chosen]))


# ---- the decomposition ----


@chapter.says(
    "Sec. 2.1, Eq. 2",
    "The policy gradient is w_S p times the mean score of successes, less w_F q times that of failures.",
    "enumeration over 5 answers, w_S = 1.3, w_F = 0.7",
)
def decomposition() -> Finding:
    weight = 1.3 * RIGHT - 0.7 * (1 - RIGHT)
    return holds(gap((PI * weight) @ scores(PI), 1.3 * P * SCORE_S - 0.7 * (1 - P) * SCORE_F), 1e-12)


@chapter.says(
    "Sec. 2.1-2.2, Eq. 3-6",
    "A group's update is G p q times the difference of its mean scores, for the centred reward.",
    "all 5^4 groups of four answers",
)
def group_update() -> Finding:
    answers = torch.tensor(list(itertools.product(range(5), repeat=4)))
    rewards = RIGHT[answers]
    weights = Estimator("dr_grpo").advantages(rewards, {}, {})
    each = scores(PI)[answers]
    update = (weights[..., None] * each).sum(1)
    p = rewards.mean(1)
    mixed = (p > 0) & (p < 1)
    rewards, each, p = rewards[mixed], each[mixed], p[mixed, None]
    score_s = (rewards[..., None] * each).sum(1) / rewards.sum(1, keepdim=True)
    score_f = ((1 - rewards)[..., None] * each).sum(1) / (1 - rewards).sum(1, keepdim=True)
    return holds(
        gap(update[mixed], 4 * p * (1 - p) * (score_s - score_f)),
        1e-12,
        "exact for the empirical p, not only `approximately`",
    )


@chapter.says(
    "Sec. 2.2", "For binary rewards the mean-only advantage has E[A] = p.", "mean of r - mean(r) over groups of 16"
)
def mean_advantage() -> Finding:
    rewards = by_successes(16)
    mean = Estimator("dr_grpo").advantages(rewards, {}, {}).mean(1)
    return fails(
        gap(mean, rewards.mean(1)),
        f"E[A] = 0 at every solve rate (largest |mean| {float(mean.abs().max()):.0e})",
        "for the reward: E[r] = p",
    )


@chapter.says("Sec. 2.2", "Mean-only GRPO peaks at medium difficulty, p = 1/2.", "argmax of pq, p = k/16")
def medium_difficulty() -> Finding:
    p, mass, _ = _masses("dr_grpo")
    return holds(abs(float(p[mass.argmax()]) - 0.5), 0.0)


# ---- section 8: masses ----


@chapter.says("Sec. 8.1", "GRPO has m_S = m_F = sqrt(pq), Skew-R pq sqrt(pq).", "enumeration, p = k/16")
def grpo_masses() -> Finding:
    root = lambda p: (p * (1 - p)).sqrt()  # noqa: E731
    skew = lambda p: (p * (1 - p)) ** 1.5  # noqa: E731
    return holds(max(_worst("grpo", root, root), _worst("skew_r", skew, skew)), 1e-12)


@chapter.says(
    "Sec. 8.2",
    "Power-alpha has p q^alpha; its asymmetric form p q^alpha_s and p^alpha_f q; AsymGRPO pq and pq / delta.",
    "enumeration, p = k/16, three values each",
)
def power_masses() -> Finding:
    worst = 0.0
    for a, f in ((1.0, 1.0), (2.0, 3.0), (0.5, 1.5)):
        power = lambda p, a=a: p * (1 - p) ** a  # noqa: E731
        worst = max(worst, _worst("power_alpha", power, power, alpha=a))
        worst = max(worst, _worst("asym_power_alpha", power, lambda p, f=f: p**f * (1 - p), alpha_s=a, alpha_f=f))
        worst = max(worst, _worst("asym_grpo", lambda p: p * (1 - p), lambda p, a=a: p * (1 - p) / a, delta=a))
    return holds(worst, 1e-12)


@chapter.says(
    "Sec. 8.2, Eq. 12-14",
    "T2T's mean advantages are q C / sigma over successes and -p C / sigma over failures, C = 1 - alpha p L_S - alpha q L_F.",
    "groups of 8 with random lengths, alpha = 0.4, class means",
)
def t2t() -> Finding:
    rewards, alpha, p, q = torch.tensor([1.0, 1, 1, 0, 0, 0, 0, 0], dtype=torch.float64), 0.4, 3 / 8, 5 / 8
    lengths = torch.randint(10, 100, (8,), generator=generator(2)).double()
    share = lengths / lengths.max()
    c = 1 - alpha * p * share[rewards == 1].mean() - alpha * q * share[rewards == 0].mean()
    sigma = torch.where(rewards == 1, 1 - alpha * p * share, alpha * q * share).std(correction=0)
    estimator = Estimator("t2t", {"alpha": alpha, "epsilon": 0.0})
    weights = estimator.advantages(rewards[None], {"lengths_PG": lengths[None]}, {})[0]
    found = torch.stack([weights[rewards == 1].mean(), weights[rewards == 0].mean()])
    return holds(
        gap(found, torch.stack([q * c / sigma, -p * c / sigma])),
        1e-12,
        "the update also has the covariance of length and gradient within a class, where the paper writes `approximately`",
    )


@chapter.says("Sec. 8.3", "MaxRL has m_S = m_F = q.", "enumeration, p = k/16, p > 0")
def max_rl() -> Finding:
    p, mass_s, mass_f = _masses("max_rl")
    return holds(
        max(gap(mass_s[1:], 1 - p[1:]), gap(mass_f[1:], 1 - p[1:])), 1e-12, "at p = 0 the weight is 0/0, taken as 0"
    )


@chapter.says(
    "Sec. 8.4.1",
    "Tang's leave-one-out advantage has expected masses k p q^(k-1) and 0, and follows pass@k.",
    "enumeration of all 5^k groups, k = 2, 3, 4, against the gradient of pass@k",
)
def tang() -> Finding:
    worst = 0.0
    for k in (2, 3, 4):
        answers = torch.tensor(list(itertools.product(range(5), repeat=k)))
        weights = Estimator("pass_at_k_loo").advantages(RIGHT[answers], {}, {})
        update = ((weights[..., None] * scores(PI)[answers]).sum(1) * PI[answers].prod(1)[:, None]).sum(0)
        stated = k * P * (1 - P) ** (k - 1)
        theta = LOGITS.clone().requires_grad_()
        value = 1 - (1 - theta.softmax(0) @ RIGHT) ** k
        worst = max(worst, gap(update, stated * SCORE_S), gap(update, torch.autograd.grad(value, theta)[0]))
    return holds(worst, 1e-12, "summed over the group; that it is the gradient of pass@k is checked too")


def _chen(groups: int, k: int):
    fail = torch.tensor([math.comb(f, k) / math.comb(groups, k) for f in range(groups, -1, -1)], dtype=torch.float64)
    return fail, 1 - fail


@chapter.says(
    "Sec. 8.4.2",
    "Chen's analytic advantages unify to Q (r - p) / sigma_k, with m_S = m_F = p sqrt((1 - R_k) / R_k).",
    "G = 16, k = 1, 2, 4, 8: the two printed cases, the unified form, the mass",
)
def chen() -> Finding:
    worst, groups = 0.0, 16
    for k in (1, 2, 4, 8):
        p, mass_s, mass_f = _masses("pass_at_k", k=k)
        fail, solved = _chen(groups, k)
        inside = (fail > 0) & (fail < 1)
        stated = p[inside] * (fail[inside] / solved[inside]).sqrt()
        worst = max(worst, gap(mass_s[inside], stated), gap(mass_f[inside], stated))
        sigma = (fail * solved).sqrt()
        rest = [math.comb(f - 1, k - 1) / math.comb(groups - 1, k - 1) if f else 0.0 for f in range(groups, -1, -1)]
        others = torch.tensor(rest, dtype=torch.float64)
        printed = ((fail - others) / sigma)[inside]
        found = (-mass_f / (1 - p))[inside]
        worst = max(worst, gap(found, printed))
    undefined = float((by_successes(16).sum(1)[1:-1] > 8).double().mean())  # share with fewer than 8 failures
    detail = "sigma_k is not zero; where fewer than k rollouts fail the weight is 0/0 (taken as 0): half of the solve rates at k = 8, G = 16"
    return conditional(worst, undefined, detail, 1e-12)


@chapter.says(
    "Sec. 8.4.2, the limit",
    "For G -> infinity Chen's mass is p sqrt(q^k / (1 - q^k)).",
    "G = 16, 256 and 4,096 at k = 4",
)
def chen_limit() -> Finding:
    errors = []
    for groups in (16, 256, 4096):
        p = torch.arange(1, groups, max(1, groups // 16), dtype=torch.float64) / groups
        failures = [round(groups * (1 - float(x))) for x in p]
        fail = torch.tensor([math.comb(f, 4) / math.comb(groups, 4) for f in failures], dtype=torch.float64)
        limit = ((1 - p) ** 4 / (1 - (1 - p) ** 4)).sqrt() * p
        errors.append(gap(p * (fail / (1 - fail)).sqrt(), limit))
    shrinks = errors[0] > 4 * errors[1] > 16 * errors[2]
    return holds(
        errors[2] if shrinks else 1.0, 1e-3, "difference " + ", ".join(f"{e:.1e}" for e in errors) + ", of order 1/G"
    )


@chapter.says(
    "Sec. 8.4.2, remark",
    "With the baseline R_k in place of p the masses p (1 - R_k) / sigma_k and q R_k / sigma_k differ for k > 1.",
    "G = 16, k = 4: the smallest difference over mixed groups; k = 1",
)
def wrong_baseline() -> Finding:
    def differences(k: int) -> torch.Tensor:
        fail, solved = _chen(16, k)
        p = torch.arange(17).double() / 16
        inside = (fail > 0) & (fail < 1)
        return ((p * fail - (1 - p) * solved) / (fail * solved).sqrt())[inside].abs()

    return holds(float(differences(1).max()) + float((differences(4) < 1e-3).sum()), 1e-12)


@chapter.says(
    "Sec. 8.4.3", "The mix of pass@1 and pass@k is balanced with mass p (p A_k + q A_1).", "enumeration, G = 16, k = 4"
)
def mix() -> Finding:
    p, mass_s, mass_f = _masses("pass_mix", k=4)
    fail, solved = _chen(16, 4)
    mixed = (p > 0) & (p < 1)
    inside = mixed & (fail > 0)
    p_in, fail, solved = p[inside], fail[inside], solved[inside]
    stated = p_in * (p_in * (fail / solved).sqrt() + (1 - p_in) * ((1 - p_in) / p_in).sqrt())
    undefined = float((mixed & ~inside).double().sum() / mixed.sum())
    return conditional(
        max(gap(mass_s[inside], stated), gap(mass_f[inside], stated)),
        undefined,
        "sigma_k is not zero; where fewer than k rollouts fail the pass@k part is 0/0, taken as 0",
        1e-12,
    )


@chapter.says(
    "Sec. 8.5",
    "AsymRL has m_S = p (q - delta) and m_F = q (p + delta); delta = 0 is mean GRPO.",
    "enumeration, delta = 0.01",
)
def asym_rl() -> Finding:
    deviation = _worst("asym_shift", lambda p: p * (0.99 - p), lambda p: (1 - p) * (p + 0.01))
    return holds(
        deviation,
        1e-12,
        "m_F - m_S = delta, also in unanimous groups; public code of asymmetric REINFORCE has the opposite sign",
    )


@chapter.says(
    "Sec. 8.6",
    "The tau-quantile of binary rewards is 0 if and only if p <= tau.",
    "G = 20, tau = 0.5 and 0.25, inverse distribution function",
)
def quantile_rule() -> Finding:
    def wrong(tau: float) -> float:
        rewards = by_successes(20)
        baseline = rewards - Estimator("quantile", {"tau": tau}).advantages(rewards, {}, {})
        p = rewards.mean(1)
        return float(((baseline[:, 0] == 0) != (p <= tau)).sum())

    assert wrong(0.5) == 0
    return fails(
        wrong(0.25),
        "at tau = 0.25 the rule is wrong at 10 of 21 solve rates of 20 rollouts; it is p <= 1 - tau",
        "tau = 1/2",
    )


@chapter.says(
    "Sec. 8.6, MC-GRPO",
    "A median baseline has m_S = p for p <= 1/2 and m_F = q for p > 1/2.",
    "enumeration, G = 16 and 15",
)
def median() -> Finding:
    worst = 0.0
    for groups in (15, 16):
        p, mass_s, mass_f = _masses("mc_grpo", groups=groups)
        worst = max(
            worst, gap(mass_s, torch.where(p <= 0.5, p, 0 * p)), gap(mass_f, torch.where(p > 0.5, 1 - p, 0 * p))
        )
    rewards = by_successes(16)
    p, upper = rewards.mean(1), rewards - rewards.sort(dim=1).values[:, 8:9]
    other = gap((upper * rewards).mean(1), torch.where(p <= 0.5, p, 0 * p))
    detail = "with the lower median; with the upper one p = 1/2 of an even group changes sides. The released code also scales by the MAD"
    return conditional(worst, other, detail, 1e-12)


@chapter.says("Sec. 8.7", "The binary contrastive weight has m_S = m_F = p.", "enumeration, p = k/16, p < 1")
def contrastive() -> Finding:
    p, mass_s, mass_f = _masses("binary_contrastive")
    return holds(max(gap(mass_s[:-1], p[:-1]), gap(mass_f[:-1], p[:-1])), 1e-12)


@chapter.says(
    "Sec. 8.8", "PowerNorm has (pq)^(1 - gamma); 1/2 is GRPO, 0 is Dr.GRPO.", "enumeration, gamma = 0, 0.3, 0.5, 1"
)
def power_norm() -> Finding:
    worst = 0.0
    for gamma in (0.0, 0.3, 0.5, 1.0):
        mass = lambda p, g=gamma: (p * (1 - p)) ** (1 - g)  # noqa: E731
        worst = max(worst, _worst("power_norm", mass, mass, inside=True, gamma=gamma))
    return holds(worst, 1e-12)


@chapter.says(
    "Sec. 8.9, softmax",
    "Softmax weights have m_S = m_F = (e^b - 1) pq / (1 + p (e^b - 1)).",
    "enumeration, G = 16, b = 2: means over rollouts, and sums over the group",
)
def softmax_masses() -> Finding:
    grow = math.expm1(2.0)
    mass = lambda p: grow * p * (1 - p) / (1 + p * grow)  # noqa: E731
    return holds(
        _worst("softmax", mass, mass, beta=2.0, scale="group"),
        1e-12,
        "as a sum over the group; GRPO's sum is G sqrt(pq), so that beside it softmax is 1/G as large as the printed masses suggest",
    )


@chapter.says(
    "Sec. 8.9, softmax limits",
    "b -> 0 recovers Dr.GRPO; b -> infinity converges to the pass@k advantage.",
    "weights at b = 1e-6 (over b) and 60, G = 16, scaled by G, against Dr.GRPO, Tang's and MaxRL",
)
def softmax_limits() -> Finding:
    rewards = by_successes(16)[1:]
    settings = [{"beta": b, "scale": "group"} for b in (1e-6, 60.0)]
    small, large = (Estimator("softmax", chosen).advantages(rewards, {}, {}) for chosen in settings)
    dr, tang, max_rl = (Estimator(n).advantages(rewards, {}, {}) for n in ("dr_grpo", "pass_at_k_loo", "max_rl"))
    chen = [Estimator("pass_at_k", {"k": k}).advantages(rewards, {}, {}) for k in (2, 4, 8, 16)]
    assert gap(small / 1e-6, dr) < 1e-5 and gap(large, max_rl) < 1e-9
    return fails(
        min(gap(large / 16, tang), *(gap(large, other) for other in chen)),
        "b -> infinity is MaxRL (m = q): of 16 rollouts two successes get 7/16 each, where Tang's advantage is 0; Chen's differs at every k",
        "b -> 0 after division by b",
    )


@chapter.says(
    "Sec. 8.9, LogMeanExp",
    "LogMeanExp has m_S = p e^b / (p e^b + q), m_F = q / (p e^b + q): sign-biased to successes.",
    "enumeration of the leave-one-out weight, G = 16, b = 1",
)
def log_mean_exp() -> Finding:
    p, mass_s, mass_f = _masses("log_mean_exp")
    z, inside = 1 + p * math.expm1(1.0), slice(1, 16)
    stated_s, stated_f = p * math.e / z, (1 - p) / z
    near = p * (1 - p) * math.expm1(1.0) / z
    return fails(
        max(gap(16 * mass_s[inside], stated_s[inside]), gap(16 * mass_f[inside], stated_f[inside])),
        f"at p = 1/4, summed over the group: {16 * float(mass_s[4]):.3f} and {16 * float(mass_f[4]):.3f} against {float(stated_s[4]):.3f} "
        f"and {float(stated_f[4]):.3f}: the derivation keeps the normaliser at G when one reward is left out",
        "nearly balanced, pq (e^b - 1) / (b (1 + p (e^b - 1))) in sum, to "
        f"{16 * max(gap(mass_s[inside], near[inside] / 16), gap(mass_f[inside], near[inside] / 16)):.3f}",
    )


@chapter.says(
    "Sec. 8.9, LogMeanExp limits",
    "b -> 0 gives m_S -> p, m_F -> q (REINFORCE); b -> infinity gives m_S -> 1, m_F -> 0.",
    "weights at b = 1e-5 and 300 against REINFORCE with rewards of either sign, RLOO / G and Tang's, G = 16",
)
def log_mean_exp_limits() -> Finding:
    rewards = by_successes(16)
    small, large = (Estimator("log_mean_exp", {"beta": b}).advantages(rewards, {}, {}) for b in (1e-5, 300.0))
    rloo, tang = (Estimator(n).advantages(rewards, {}, {}) for n in ("rloo", "pass_at_k_loo"))
    signed = 2 * rewards - 1
    assert gap(small, rloo / 16) < 1e-5 and gap(large, tang) < 0.02
    return fails(
        gap(16 * small, signed),
        "b -> 0 is RLOO / G, m_S = m_F; at b -> infinity only the sole success of a group has weight (Tang's pass@k, k = G)",
        "m_F -> 0 for b -> infinity",
    )


@chapter.says(
    "Sec. 8.10",
    "HA-DW's negative mass is that of Dr.GRPO, and only the positive one is modulated.",
    "enumeration, base Dr.GRPO, lambda = 1, C = 0.4",
)
def ha_dw() -> Finding:
    p, mass_s, mass_f = _masses("ha_dw", state={"anchor": 0.4}, base="dr_grpo", lam=1.0)
    assert gap(mass_s, p * (1 - p) * torch.exp(0.4 - p)) < 1e-12
    return fails(
        gap(mass_f, p * (1 - p)),
        f"the exponent's sign follows A, so that m_F = pq e^(p - C); largest ratio {float((mass_f[1:-1] / (p * (1 - p))[1:-1]).max()):.2f}",
        "at p = C",
    )


@chapter.says("Sec. 8.11", "The ReLU advantage has m_S = pq and m_F = 0.", "enumeration, p = k/16")
def relu() -> Finding:
    return holds(_worst("relu", lambda p: p * (1 - p), lambda p: 0 * p), 1e-12)


@chapter.says(
    "Sec. 10",
    "FADE's masses are p q^alpha and p q^alpha / delta, so that m_S / m_F = delta.",
    "two groups with p = 0.2 and 0.8, alpha = 2, delta = 0.5; the group's mean and the batch's as r_bar",
)
def fade_masses() -> Finding:
    rewards = torch.tensor([[1.0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.float64)
    p = rewards.mean(1)

    def difference(baseline: str) -> float:
        weights = Estimator("fade", {"baseline": baseline}).advantages(rewards, {}, {"alpha": 2.0, "delta": 0.5})
        mass_s, mass_f = class_masses(weights, rewards)
        return max(gap(mass_s, p * (1 - p) ** 2), gap(mass_f, p * (1 - p) ** 2 / 0.5))

    return conditional(
        difference("prompt"),
        difference("batch"),
        "r_bar is the prompt's mean; if B in Algorithms 1 and 2 is the whole batch, p = 0.2 in a batch of mean 0.5 has masses 0.05 and "
        "0.40 and not 0.128 and 0.256",
    )


@chapter.says(
    "Sec. 5 and 10, Algorithm 2",
    "p_hat and H_hat are smoothed moving averages (coefficient 0.02).",
    "share of the past that is left after one step",
)
def moving_average() -> Finding:
    first = Estimator("fade").step(torch.zeros(1, 4).double(), {"entropy": 1.0}, {})[1]
    kept = first["p_hat"] / 0.5
    return fails(
        1 - kept,
        f"p_hat <- 0.02 p_hat + 0.98 r_bar keeps {100 * kept:.0f} % of the past in a step, a half-life of "
        f"{math.log(0.5) / math.log(0.02):.2f} steps",
        "with the coefficients exchanged, a half-life of 34 steps (`ema: smooth`)",
    )


# ---- section 9 ----


@chapter.says(
    "Sec. 9.1, Eq. 15-16",
    "Over turns the gradient is the sum of m_S(t) grad_S(t) - m_F(t) grad_F(t), masses scaled by the chance to reach turn t.",
    "enumeration of a two-turn policy that answers again where the first answer is wrong; weight 1 for success, -0.5 for failure",
)
def multi_turn() -> Finding:
    theta = torch.stack([LOGITS, LOGITS.flip(0)]).requires_grad_()
    pi, wrong = theta.softmax(1), 1 - RIGHT
    value = pi[0] @ RIGHT + (pi[0] @ wrong) * (pi[1] @ RIGHT - 0.5 * pi[1] @ wrong)
    found = torch.autograd.grad(value, theta)[0]
    pi = pi.detach()
    p, q = pi @ RIGHT, pi @ wrong
    score_s = [(pi[t] * RIGHT) @ scores(pi[t]) / p[t] for t in (0, 1)]
    score_f = [(pi[t] * wrong) @ scores(pi[t]) / q[t] for t in (0, 1)]
    later = p[1] - 0.5 * q[1]  # what a failure at turn 1 is worth
    turn1 = p[0] * score_s[0] - q[0] * -later * score_f[0]
    turn2 = q[0] * (p[1] * score_s[1] - 0.5 * q[1] * score_f[1])
    return holds(max(gap(found[0], turn1), gap(found[1], turn2)), 1e-12, "with rho_1 = 1, rho_2 = q")


@chapter.says(
    "Sec. 9.2",
    "A second round on prompts that failed the first, reached with probability q, has the mass of Power-alpha = 2.",
    "expected mass of round 2 over a binomial first round of B = 1 and B = 8 rollouts, by enumeration",
)
def resampling() -> Finding:
    p = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)

    def second(rollouts: int) -> torch.Tensor:
        reached = torch.tensor([stats.binom.pmf(0, rollouts, float(x)) for x in p], dtype=torch.float64)
        return reached * p * (1 - p)

    stated = p * (1 - p) ** 2
    return conditional(
        gap(second(1), stated),
        gap(second(8), stated),
        "a rollout is retried for itself; a prompt whose B rollouts all fail is reached with q^B. Round 2 alone: both rounds have "
        "pq (1 + q), endless retries q (MaxRL)",
        1e-12,
    )


# ---- section 13: entropy ----


def _entropy_slope(direction: torch.Tensor) -> float:
    theta = LOGITS.clone().requires_grad_()
    entropy = -(theta.softmax(0) * theta.log_softmax(0)).sum()
    return float(torch.autograd.grad(entropy, theta)[0] @ direction)


def _advantage(shift: float) -> torch.Tensor:
    return 1.2 * RIGHT - 0.4 * (1 - RIGHT) + shift


@chapter.says(
    "Sec. 4.1, Eq. 7; theorem 13.1",
    "Under a local projection assumption a step changes entropy by eta ((m_S - m_F) H - Cov(A, log pi)): a drift in H.",
    "derivative of entropy along the exact natural gradient, 5 answers, as a constant is added to A",
)
def entropy_change() -> Finding:
    log_pi = PI.log()
    entropy = float(-(PI * log_pi).sum())
    stated, found, covariance = [], [], []
    for shift in (0.0, 0.5, -0.5):
        a = _advantage(shift)
        mean = float(PI @ a)
        cov = float(PI @ (a * log_pi)) - mean * float(PI @ log_pi)
        natural = a - mean  # the natural gradient of a softmax policy, up to a constant of the logits
        found.append(_entropy_slope(natural))
        stated.append(mean * entropy - cov)
        covariance.append(-cov)
    assert max(abs(f - c) for f, c in zip(found, covariance, strict=True)) < 1e-12
    vanilla = [_entropy_slope((PI * _advantage(shift)) @ scores(PI)) for shift in (0.0, 0.5)]
    assert abs(vanilla[0] - vanilla[1]) < 1e-12
    return fails(
        max(abs(f - s) for f, s in zip(found, stated, strict=True)),
        "adding c to every A moves the stated value by c H and the true one by 0, for the natural and for the vanilla gradient, since "
        "scores have zero mean. With the formula's sign m_S > m_F would raise entropy, and sec. 4.1 says that it accelerates collapse",
        "Delta H = -eta Cov(A, log pi), exactly, for the natural gradient",
    )


@chapter.says(
    "Theorem 13.1, Eq. 24",
    "Under the Fisher metric E[log pi grad log pi] . E[A grad log pi] is E[A log pi].",
    "inner product in the inverse Fisher metric, 5 answers, A with mean 0 and 0.5 above",
)
def projection() -> Finding:
    log_pi = PI.log()
    fisher = scores(PI).T @ torch.diag(PI) @ scores(PI)
    inverse = torch.linalg.pinv(fisher)

    def difference(a: torch.Tensor) -> float:
        left, right = (PI * log_pi) @ scores(PI), (PI * a) @ scores(PI)
        return abs(float(left @ inverse @ right) - float(PI @ (a * log_pi)))

    centred = _advantage(0.0) - float(PI @ _advantage(0.0))
    return conditional(
        difference(centred), difference(centred + 0.5), "E[A] = 0; in general it is the covariance Cov(A, log pi)"
    )


@chapter.says(
    "Sec. 4.1",
    "The symbol A_S / A_F, defined as m_S p / (m_F q), is the ratio of the two weights.",
    "AsymGRPO, delta = 0.5, p = k/16",
)
def advantage_ratio() -> Finding:
    rewards = by_successes(16)[1:-1]
    weights = Estimator("asym_grpo").advantages(rewards, {}, {})
    p = rewards.mean(1)
    ratio = weights[:, 0] / -weights[:, -1]
    mass_s, mass_f = class_masses(weights, rewards)
    assert gap(ratio, mass_s * (1 - p) / (mass_f * p)) < 1e-12
    return fails(
        gap(ratio, mass_s * p / (mass_f * (1 - p))),
        "masses are m_S = p A_S and m_F = q A_F, so that A_S / A_F = m_S q / (m_F p); at p = 0.25 the two differ by a factor 9",
        "as a measure of its own, rho(p), as Table 7 has it",
    )


# ---- section 14: the variance of an estimated weight ----


def _weight_peak(alpha: float) -> float:
    """C of Eq. 27."""
    return (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)


def _weight(p, alpha: float):
    return _weight_peak(alpha) * p * (1 - p) ** alpha


def exact_variance(p: float, alpha: float, groups: int) -> float:
    """Var(w(k / G)) over k ~ Binomial(G, p)."""
    k = np.arange(groups + 1)
    chance, value = stats.binom.pmf(k, groups, p), _weight(k / groups, alpha)
    return float(chance @ value**2 - (chance @ value) ** 2)


def delta_variance(p: float, alpha: float, groups: int) -> float:
    """Eq. 30."""
    scale = (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)
    return scale**2 * p * (1 - p) ** (2 * alpha - 1) * (1 - (1 + alpha) * p) ** 2 / groups


def _argmax(value: Callable[[float], float]) -> float:
    """Where a function on (0, 1) with one peak is largest."""
    found: Any = optimize.minimize_scalar(
        lambda p: -value(p), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    )
    return float(found.x)


@chapter.says(
    "Sec. 14, Eq. 27", "C = (1 + a)^(1 + a) / (4 a^a) makes the peak of C p q^a equal to 1/4.", "scipy, six values of a"
)
def peak() -> Finding:
    worst = 0.0
    for alpha in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0):
        found = _weight(_argmax(lambda p, a=alpha: _weight(p, a)), alpha)
        worst = max(worst, abs(found - 0.25))
    return holds(worst, 1e-12)


@chapter.says(
    "Sec. 14, Eq. 29 and 31",
    "w' = C q^(a-1) (1 - (1 + a) p); the relative variance is its square over G p q w^2.",
    "autograd",
)
def derivative() -> Finding:
    p, worst = torch.linspace(0.05, 0.95, 19, dtype=torch.float64).requires_grad_(), 0.0
    for alpha in (1.0, 2.0, 3.0):
        weight = _weight(p, alpha)
        slope = torch.autograd.grad(weight.sum(), p)[0]
        scale = (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)
        q = 1 - p.detach()
        stated = scale * q ** (alpha - 1) * (1 - (1 + alpha) * p.detach())
        relative = (1 - (1 + alpha) * p.detach()) ** 2 / (8 * p.detach() * q)
        worst = max(worst, gap(slope, stated), gap(slope**2 * p.detach() * q / 8 / weight.detach() ** 2, relative))
    return holds(worst, 1e-10)


@chapter.says(
    "Sec. 14, Eq. 28 and 30",
    "The variance of the estimated weight is that of the delta method.",
    "exact binomial variance, G = 64 and 16, alpha = 2, 3, 0.1 <= p <= 0.8, at least 0.1 from the mode",
)
def delta_method() -> Finding:
    def worst(groups: int) -> float:
        ratios = []
        for alpha, p in itertools.product((2.0, 3.0), np.arange(0.10, 0.801, 0.01)):
            if abs(p - 1 / (1 + alpha)) >= 0.1:
                ratios.append(abs(delta_variance(p, alpha, groups) / exact_variance(p, alpha, groups) - 1))
        return max(ratios)

    wide, narrow = worst(64), worst(16)
    detail = f"`G reasonably large`: within {100 * wide:.0f} % at G = 64; at G = 16, where Figure 7 stands, up to {100 * narrow:.0f} % off"
    return holds(wide, 0.165, detail)


@chapter.says(
    "Sec. 14, after Eq. 31",
    "The variance vanishes at the weight's mode, p = 1 / (1 + alpha).",
    "exact binomial variance at the mode, alpha = 3, G = 16",
)
def mode_variance() -> Finding:
    found = exact_variance(0.25, 3.0, 16)
    detail = f"to first order in 1/G, as Eq. 30; the variance is {found:.1e}, of second order"
    return conditional(delta_variance(0.25, 3.0, 16), found, detail)


@chapter.says(
    "Sec. 4.3",
    "With equal signal everywhere, weights in inverse proportion to the noise, w ~ p (1 - p), are best.",
    "for the ratio (sum of w s)^2 / sum of w^2 v, which the paper does not name: Cauchy-Schwarz, and 2,000 random weights",
)
def inverse_noise() -> Finding:
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)
    noise = 1 / (p * (1 - p))

    def ratio(w: torch.Tensor) -> torch.Tensor:
        return w.sum(-1) ** 2 / (w**2 * noise).sum(-1)

    bound = (1 / noise).sum()  # (sum w)^2 <= sum w^2 v  sum 1/v, with equality at w = 1/v
    others = ratio(torch.rand(2000, 50, generator=generator(5), dtype=torch.float64))
    return holds(max(0.0, float(others.max() - bound)) + abs(float(ratio(1 / noise) - bound)), 1e-9)


@chapter.says(
    "Sec. 4.3, Eq. 10",
    "There is a weight function that maximises the update quality Q(w) = N_eff E[s / Var(w g)].",
    "Q of w = p (1 - p) and of a tenth of it, 50 difficulties, s = 1, Eq. 9",
)
def update_quality() -> Finding:
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)

    def quality(scale: float) -> float:
        w = scale * p * (1 - p)
        variance = w**2 / (16 * p * (1 - p)) + (scale * (1 - 2 * p)) ** 2 * p * (1 - p) / 16
        return float(w.mean() ** 2 / (w**2).mean() * (1 / variance).mean())

    ratio = quality(0.1) / quality(1.0)
    return fails(
        ratio - 1,
        f"N_eff does not change with the scale of w and Var(w g) does: a tenth of a weight has {ratio:.0f} times its quality, so that "
        "Q has no largest value",
        "with the signal scaled too, (w s)^2 / Var(w g)",
    )


@chapter.says(
    "Sec. 14 and 4.3, Table 8",
    "alpha = 3 is justified at mean solve rate 1/2 only if harder prompts carry (2 (1 - p))^2 times the signal: 2.25 at p = 1/4.",
    "ratio (sum of w s)^2 / sum of w^2 v over uniform p, for s = (1 - p)^0.8, whose s(1/4) / s(1/2) is below 2.25",
)
def enrichment() -> Finding:
    p = torch.linspace(0.005, 0.995, 199, dtype=torch.float64)
    signal, noise = (1 - p) ** 0.8, 1 / (p * (1 - p))

    def ratio(alpha: float) -> float:
        w = _weight(p, alpha) / (p * (1 - p)) / noise  # alpha = 1 is the inverse noise itself
        return float((w * signal).sum() ** 2 / (w**2 * noise).sum())

    enriched, gain = (0.75 / 0.5) ** 0.8, ratio(3.0) / ratio(1.0)
    relative = (_weight(p, 3.0) / _weight(p, 1.0)) * 4 / _weight_peak(3.0)
    assert gap(relative, (2 * (1 - p)) ** 2) < 1e-9
    return fails(
        gain - 1 if enriched < 2.25 and gain > 1 else 0.0,
        f"s(1/4) / s(1/2) = {enriched:.2f}, and alpha = 3 has {gain:.3f} times the ratio of alpha = 1; the paper derives no threshold",
        "as the emphasis that alpha = 3 puts on p relative to p = 1/2, which is exactly (2 (1 - p))^2",
    )


@chapter.says(
    "Sec. 14.1",
    "For a signal e^(-c p), c from 0.5 to 1 moves the best difficulty into [0.3, 0.5].",
    "argmax of e^(-2 c p) p (1 - p), scipy",
)
def sweet_spot() -> Finding:
    def best(c: float) -> float:
        return _argmax(lambda p: math.exp(-2 * c * p) * p * (1 - p))

    assert abs(best(0.5) - (3 - math.sqrt(5)) / 2) < 1e-6
    return holds(
        max(0.0, 0.3 - best(1.0)), 0.05, f"to the digit printed: {best(0.5):.3f} at c = 0.5, {best(1.0):.3f} at c = 1"
    )


# ---- sections 12 and 15 ----


@chapter.says(
    "Theorem 12.1, power-law regime",
    "A density ~ C p^(b-1) of solve rates near 0 gives 1 - pass@k ~ C Gamma(b) k^(-b).",
    "Beta(b, c) laws in closed form, k = 1e6",
)
def power_law() -> Finding:
    worst, k = 0.0, 1e6
    for b, c in ((0.3, 2.0), (0.7, 1.0), (1.5, 3.0)):
        log_exact = special.betaln(b, c + k) - special.betaln(b, c)
        log_stated = -special.betaln(b, c) + special.gammaln(b) - b * math.log(k)
        worst = max(worst, abs(math.expm1(log_exact - log_stated)))
    return holds(worst, 1e-5, "relative error at k = 1e6, of order 1/k")


@chapter.says(
    "Theorem 12.1, rapidly decaying regime",
    "A density below exp(-c / p^a) near 0 gives 1 - pass@k smaller than every power of 1/k.",
    "quadrature of E[(1 - p)^k] for density ~ exp(-0.2 / p): local slopes in log k keep falling",
)
def fast_decay() -> Finding:
    def log_fail(k: float) -> float:
        value, _ = integrate.quad(
            lambda p: math.exp(k * math.log1p(-p) - 0.2 / p) if 0 < p < 1 else 0.0,
            0,
            1,
            limit=500,
            points=[1 / math.sqrt(k)],
        )
        return math.log(value)

    ks = [10.0**e for e in (1, 2, 3, 4)]
    slopes = [(log_fail(b) - log_fail(a)) / math.log(b / a) for a, b in itertools.pairwise(ks)]
    falling = all(later < earlier - 1 for earlier, later in itertools.pairwise(slopes))
    return holds(0.0 if falling else 1.0, 0.0, "slopes " + ", ".join(f"{s:.1f}" for s in slopes))


@chapter.says(
    "Proposition 15.1, Eq. 33",
    "The rank-1 share tends to |E[A a v]|^2 / (|E[A a v]|^2 + |R|^2), and is 1 if and only if R = 0.",
    "the identity for a mean gradient (12 x 8) with and without its residual, by SVD; the limit is the law of large numbers",
)
def rank_one_share() -> Finding:
    def difference(mean: torch.Tensor) -> tuple[float, float]:
        _, s, v = torch.linalg.svd(mean)
        signal = mean @ v[0]
        residual = mean - torch.outer(signal, v[0])
        stated = float(signal @ signal / (signal @ signal + (residual**2).sum()))
        return abs(stated - float(s[0] ** 2 / (s**2).sum())), stated

    mean = normal(12, 8)
    general, share = difference(mean)
    flat, one = difference(torch.outer(mean[:, 0], mean[0]))
    return holds(max(general, flat, abs(one - 1)) if share < 1 else 1.0, 1e-12)


@chapter.says(
    "Sec. 4.2",
    "As the residuals' mean pairwise correlation goes to 0, they cancel, the higher-rank term vanishes and r_1 goes to 1.",
    "a law of three equally likely tokens whose residuals have mean zero, so that independent draws are uncorrelated",
)
def uncorrelated_residuals() -> Finding:
    basis = torch.eye(3, dtype=torch.float64)
    v, h = basis - 1 / 3, math.sqrt(1.5) * (basis - 1 / 3)  # v = e_y - pi; unit residuals of zero mean
    a = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    signal = 2.0 * (a[:, None] * v).mean(0)  # hidden states have 2 along u_1
    residual = torch.einsum("k,kv,kh->vh", a, v, h) / 3
    correlation = float((h.mean(0) ** 2).sum())
    mean = torch.cat([signal[:, None], residual], dim=1)
    s = torch.linalg.svdvals(mean)
    share = float(s[0] ** 2 / (s**2).sum())
    return fails(
        1 - share if correlation < 1e-12 else 0.0,
        f"v_i = e_i - 1/3, residuals sqrt(3/2) (e_i - 1/3), A = 1, 2, 3, 2 along u_1: mean pairwise correlation 0, and the mean "
        f"gradient has |R|^2 = {float((residual**2).sum()):.2f} and a rank-1 share of {share:.2f}",
        "where A v and the residual are uncorrelated too",
    )


@chapter.says(
    "Corollary 15.2",
    "K equally likely orthogonal failure modes have |R_F|^2 = c^2 mu^2 / K.",
    "construction for K = 2, 4, 8",
)
def failure_modes() -> Finding:
    worst = 0.0
    for modes in (2, 4, 8):
        a = torch.nn.functional.normalize(normal(modes, 10, seed=modes), dim=1) * 0.7
        means = torch.linalg.qr(normal(16, modes, seed=modes + 1)).Q.T * 1.3
        residual = torch.einsum("kv,kh->vh", a, means) / modes
        worst = max(worst, abs(float((residual**2).sum()) - (0.7 * 1.3) ** 2 / modes))
    v, h = torch.tensor([1.0, -1.0]), torch.tensor([0.5, -0.5])  # one mode, two points: E[v] = 0 and E[v h] is not
    return conditional(
        worst, float((v * h).mean().abs()), "A v and the hidden state are uncorrelated within a mode", 1e-12
    )


@chapter.says(
    "Corollary 15.2, its consequence",
    "delta < 1 amplifies the shrinking failure residual, and so accelerates the collapse to rank 1.",
    "rank-1 share of a mean gradient, delta = 1 and 0.5: failures with, and without, a part along the shared direction",
)
def delta_and_rank() -> Finding:
    u, success, failure = torch.linalg.qr(normal(9, 3)).Q.T
    first, second, third = torch.linalg.qr(normal(7, 3, seed=1)).Q.T

    def share(delta: float, along: float) -> float:
        residual = 0.3 * torch.outer(second, success) + 0.7 / delta * 0.5 * torch.outer(third, failure)
        signal = torch.outer(first, u) * (1 + along * 0.7 / delta)
        s = torch.linalg.svdvals(signal + residual)
        return float(s[0] ** 2 / (s**2).sum())

    return conditional(
        max(0.0, share(1.0, 5.0) - share(0.5, 5.0)),
        share(1.0, 0.0) - share(0.5, 0.0),
        "failures also push along the shared direction, and enough to outgrow their residual. Smaller "
        f"delta enlarges (q / delta) R_F; without such a push the rank-1 share falls, here from {share(1.0, 0.0):.2f} to "
        f"{share(0.5, 0.0):.2f}",
    )


@chapter.says(
    "Corollary 15.3", "Steps w_t x u along one direction u add up to a matrix of rank 1.", "SVD of a sum of 50 steps"
)
def accumulation() -> Finding:
    u = torch.nn.functional.normalize(normal(9), dim=0)
    total = torch.stack([torch.outer(normal(7, seed=t), u) for t in range(50)]).sum(0)
    s = torch.linalg.svdvals(total)
    return holds(float(s[1] / s[0]), 1e-12)

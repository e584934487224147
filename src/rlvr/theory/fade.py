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
    known = estimators.signature(name).settings
    if "epsilon" in known and name != "mc_grpo":
        settings = {"epsilon": 0.0, **settings}
    rewards = by_successes(groups)
    weights = Estimator(name, settings).advantages(rewards, {}, state or {})
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
    "T2T's advantages are q C / sigma and -p C / sigma with C = 1 - alpha p L_S - alpha q L_F.",
    "groups of 8, alpha = 0.4: lengths equal within a class, and random lengths (class means)",
)
def t2t() -> Finding:
    def difference(lengths: torch.Tensor, rewards: torch.Tensor) -> float:
        p, q, alpha = rewards.mean(), 1 - rewards.mean(), 0.4
        share = lengths / lengths.max()
        c = 1 - alpha * p * share[rewards == 1].mean() - alpha * q * share[rewards == 0].mean()
        shaped = torch.where(rewards == 1, 1 - alpha * p * share, alpha * q * share)
        weights = Estimator("t2t", {"alpha": alpha, "epsilon": 0.0}).advantages(
            rewards[None], {"lengths_PG": lengths[None]}, {}
        )[0]
        stated = torch.where(rewards == 1, q * c, -p * c) / shaped.std(correction=0)
        return gap(weights, stated)

    rewards = torch.tensor([1.0, 1, 1, 0, 0, 0, 0, 0], dtype=torch.float64)
    equal = torch.where(rewards == 1, 40.0, 100.0).double()
    uneven = torch.randint(10, 100, (8,), generator=generator(2)).double()
    return conditional(
        difference(equal, rewards),
        difference(uneven, rewards),
        "lengths are equal within each class; else the equations are for class means, and the update also has the "
        "covariance of length and gradient",
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
    return holds(worst, 1e-12, "summed over the group; a mean over rollouts has 1/k of it")


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
    return holds(worst, 1e-12, "k = 1 is GRPO")


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
    inside = (p > 0) & (p < 1) & (fail > 0)
    p, fail, solved = p[inside], fail[inside], solved[inside]
    stated = p * (p * (fail / solved).sqrt() + (1 - p) * ((1 - p) / p).sqrt())
    return holds(max(gap(mass_s[inside], stated), gap(mass_f[inside], stated)), 1e-12)


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

    return conditional(
        wrong(0.5),
        wrong(0.25),
        "tau = 1/2; in general the rule is p <= 1 - tau (at tau = 0.25 it differs at 10 of 21 solve rates)",
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
    return holds(
        worst,
        1e-12,
        "with the lower median; at p = 1/2 of an even group the convention decides. The released code also scales by the MAD",
    )


@chapter.says("Sec. 8.7", "The binary contrastive weight has m_S = m_F = p.", "enumeration, p = k/16, p < 1")
def contrastive() -> Finding:
    p, mass_s, mass_f = _masses("binary_contrastive")
    return holds(
        max(gap(mass_s[:-1], p[:-1]), gap(mass_f[:-1], p[:-1])), 1e-12, "sign-balanced but not centred on failures"
    )


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
    return conditional(
        _worst("softmax", mass, mass, beta=2.0, scale="group"),
        _worst("softmax", mass, mass, beta=2.0),
        "the masses are sums over the group here; all others in the section are means (times B), by which these are 1/G of it",
    )


@chapter.says(
    "Sec. 8.9, softmax limits",
    "b -> 0 recovers Dr.GRPO; b -> infinity converges to the pass@k advantage.",
    "weights at b = 1e-6 (over b) and 60, G = 16, scaled by G, against Dr.GRPO, Tang's and MaxRL",
)
def softmax_limits() -> Finding:
    rewards = by_successes(16)[1:]
    small, large = (
        Estimator("softmax", {"beta": b, "scale": "group"}).advantages(rewards, {}, {}) for b in (1e-6, 60.0)
    )
    dr, tang, max_rl = (Estimator(n).advantages(rewards, {}, {}) for n in ("dr_grpo", "pass_at_k_loo", "max_rl"))
    assert gap(small / 1e-6, dr) < 1e-5 and gap(large, max_rl) < 1e-9
    return fails(
        gap(large / 16, tang),
        "b -> infinity is MaxRL (m = q), two successes of 16 still get 7/16 each over G",
        "b -> 0 after division by b",
    )


@chapter.says(
    "Sec. 8.9, LogMeanExp",
    "LogMeanExp has m_S = p e^b / (p e^b + q), m_F = q / (p e^b + q): sign-biased to successes.",
    "enumeration of the leave-one-out weight, G = 16, b = 1",
)
def log_mean_exp() -> Finding:
    p, mass_s, mass_f = _masses("log_mean_exp")
    z = 1 + p * math.expm1(1.0)
    quarter = p == 0.25
    near = p * (1 - p) * math.expm1(1.0) / z
    return fails(
        max(gap(mass_s, p * math.e / z), gap(mass_f, (1 - p) / z)),
        f"at p = 1/4: {16 * float(mass_s[quarter]):.3f} and {16 * float(mass_f[quarter]):.3f} (times G) against "
        f"{float((p * math.e / z)[quarter]):.3f} and {float(((1 - p) / z)[quarter]):.3f}: the derivation keeps the "
        "normaliser at G when one reward is left out",
        f"nearly balanced: pq (e^b - 1) / (b (1 + p (e^b - 1))) / G to {16 * max(gap(mass_s, near / 16), gap(mass_f, near / 16)):.3f} times 1/G",
    )


@chapter.says(
    "Sec. 8.9, LogMeanExp limits",
    "b -> 0 is REINFORCE; b -> infinity is pure positive reinforcement.",
    "weights at b = 1e-5 and 300 against REINFORCE, RLOO / G, Tang's, G = 16",
)
def log_mean_exp_limits() -> Finding:
    rewards = by_successes(16)
    small, large = (Estimator("log_mean_exp", {"beta": b}).advantages(rewards, {}, {}) for b in (1e-5, 300.0))
    rloo, reinforce, tang = (Estimator(n).advantages(rewards, {}, {}) for n in ("rloo", "reinforce", "pass_at_k_loo"))
    assert gap(small, rloo / 16) < 1e-5 and gap(large, tang) < 0.02
    return fails(
        gap(16 * small, reinforce),
        "b -> 0 is RLOO / G; REINFORCE has no weight on failures",
        "b -> infinity is Tang's pass@k, k = G: only the sole success",
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
        "r_bar is the prompt's mean; with the batch's mean, as Algorithms 1 and 2 define it, p = 0.2 in a batch of mean "
        "0.5 has masses 0.05 and 0.40 and not 0.128 and 0.256",
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
    "enumeration of a two-turn policy: a second answer is given where the first is wrong",
)
def multi_turn() -> Finding:
    theta = torch.stack([LOGITS, LOGITS.flip(0)]).requires_grad_()
    pi = theta.softmax(1)
    wrong = 1 - RIGHT
    value = pi[0] @ RIGHT + (pi[0] @ wrong) * (pi[1] @ RIGHT)
    found = torch.autograd.grad(value, theta)[0]
    pi = pi.detach()
    p1, p2 = float(pi[0] @ RIGHT), float(pi[1] @ RIGHT)
    reach = 1 - p1
    # Turn 1 is weighed by the expected final reward: 1 after a success, p2 after a failure.
    weight = RIGHT + wrong * p2
    turn1 = (pi[0] * weight) @ scores(pi[0])
    turn2 = reach * (pi[1] * RIGHT) @ scores(pi[1])
    return holds(max(gap(found[0], turn1), gap(found[1], turn2)), 1e-12, "with rho_1 = 1, rho_2 = q")


@chapter.says(
    "Sec. 9.2",
    "One round of GRPO on failed attempts makes the update that of Power-alpha = 2.",
    "masses of round 2, of both rounds, and with a retry of the prompt only if all B = 8 rollouts fail",
)
def resampling() -> Finding:
    p = torch.linspace(0.05, 0.95, 19, dtype=torch.float64)
    q = 1 - p
    second, both = q * p * q, p * q * (1 + q)
    by_prompt = q**8 * p * q
    return conditional(
        gap(second, p * q**2),
        max(gap(both, p * q**2), gap(by_prompt, p * q**2)),
        "round 2 alone, with each failed rollout retried; both rounds give pq (1 + q), endless retries q (MaxRL), and a "
        "prompt whose B rollouts all fail is reached with q^B",
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
    "A step changes entropy by eta ((m_S - m_F) H - Cov(A, log pi)): unbalanced signs add a drift in H.",
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
    return fails(
        max(abs(f - s) for f, s in zip(found, stated, strict=True)),
        "adding c to every A moves the stated value by c H and the true one by 0, since scores have zero mean. With the "
        "formula's sign m_S > m_F would raise entropy, and sec. 4.1 says that it accelerates collapse",
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
    "Sec. 4.1 and Table 7",
    "The ratio of advantages A_S / A_F is m_S p / (m_F q).",
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
        "as a measure of its own, rho(p), which Table 7 tabulates",
    )


@chapter.says(
    "Sec. 4.1 and 8.2",
    "delta steers the sign balance of the expected update of a prompt.",
    "angle between expected gradients at delta = 0.5 and 1, one prompt, exact expectation",
)
def delta_direction() -> Finding:
    def update(delta: float) -> torch.Tensor:
        mass = P * (1 - P)
        return mass * SCORE_S - mass / delta * SCORE_F

    cosine = float(torch.nn.functional.cosine_similarity(update(0.5), update(1.0), dim=0))
    assert gap(P * SCORE_S + (1 - P) * SCORE_F, torch.zeros(5).double()) < 1e-12 and cosine > 1 - 1e-12
    return Finding(
        1.0,
        "holds under a condition",
        "through sampling, through parameters shared by prompts, and off-policy. For one prompt in exact expectation "
        f"p E[score | S] + q E[score | F] = 0, and delta only rescales the step (cosine {cosine:.6f})",
    )


# ---- section 14: the variance of an estimated weight ----


def _weight(p, alpha: float):
    scale = (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)
    return scale * p * (1 - p) ** alpha


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
    detail = f"G = 64: within {100 * wide:.0f} %; at G = 16, where Figure 7 stands, up to {100 * narrow:.0f} % off"
    return conditional(wide, narrow, detail, tolerance=0.165)


@chapter.says(
    "Sec. 14, after Eq. 31",
    "The variance vanishes at the weight's mode, p = 1 / (1 + alpha).",
    "exact binomial variance at the mode, alpha = 3, G = 16",
)
def mode_variance() -> Finding:
    found = exact_variance(0.25, 3.0, 16)
    detail = f"to first order in 1/G: Eq. 30 is 0 there, the variance {found:.1e}, of second order"
    return Finding(found, "holds under a condition", detail)


@chapter.says(
    "Sec. 4.3",
    "With equal signal everywhere, weights in inverse proportion to the noise, w ~ p (1 - p), are best.",
    "signal-to-noise ratio of a weighted sum over 50 difficulties against 2,000 random weights",
)
def inverse_noise() -> Finding:
    p = torch.linspace(0.02, 0.98, 50, dtype=torch.float64)
    noise = 1 / (p * (1 - p))

    def ratio(w: torch.Tensor) -> torch.Tensor:
        return w.sum(-1) ** 2 / (w**2 * noise).sum(-1)

    best = ratio(1 / noise)
    others = ratio(torch.rand(2000, 50, generator=generator(5), dtype=torch.float64) * (1 / noise))
    return holds(max(0.0, float(others.max() - best)), 0.0)


@chapter.says(
    "Sec. 4.3 and 14, Table 8",
    "alpha = 3 pays at mean solve rate 1/2 only where harder prompts carry (2 (1 - p))^2 times the signal: 2.25 at p = 1/4.",
    "ratio of the weights q^2 of alpha = 3 over alpha = 1, relative to p = 1/2",
)
def enrichment() -> Finding:
    p = torch.linspace(0.05, 0.5, 10, dtype=torch.float64)
    relative = (_weight(p, 3.0) / _weight(p, 1.0)) / (_weight(torch.tensor(0.5), 3.0) / _weight(torch.tensor(0.5), 1.0))
    return holds(
        max(gap(relative, (2 * (1 - p)) ** 2), abs(float((2 * 0.75) ** 2) - 2.25)),
        1e-6,
        "as the relative emphasis that alpha = 3 puts on p",
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
    assert best(0.95) > 0.3
    detail = f"c up to 0.95: c = 0.5 peaks at {best(0.5):.3f}, c = 1 at {best(1.0):.3f}"
    return Finding(0.3 - best(1.0), "holds under a condition", detail)


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
    "SVD of a random mean gradient (12 x 8) and of the part along its top direction",
)
def rank_one_share() -> Finding:
    mean = normal(12, 8)
    _, s, v = torch.linalg.svd(mean)
    u1 = v[0]
    signal, residual = mean @ u1, mean - torch.outer(mean @ u1, u1)
    stated = float(signal @ signal / (signal @ signal + (residual**2).sum()))
    return holds(abs(stated - float(s[0] ** 2 / (s**2).sum())), 1e-12)


@chapter.says(
    "Sec. 4.2",
    "As the residuals' mean pairwise correlation goes to 0, the higher-rank term vanishes.",
    "a law of 3 points: h mean-zero (correlation 0), v = e_y - pi correlated with h",
)
def uncorrelated_residuals() -> Finding:
    basis = torch.eye(3, dtype=torch.float64)
    v = basis - 1 / 3  # v_i of three equally likely tokens
    h = math.sqrt(1.5) * (basis - 1 / 3)  # unit vectors of zero mean
    correlation = float((h.mean(0) ** 2).sum())
    residual = torch.einsum("kv,kh->vh", v, h) / 3
    return fails(
        float((residual**2).sum()) if correlation < 1e-12 else 0.0,
        f"v_i = e_i - 1/3, h_i = sqrt(3/2) (e_i - 1/3), i = 1 to 3: mean pairwise correlation of independent draws 0, |R|^2 = {float((residual**2).sum()):.2f}",
        "where v and h are uncorrelated too",
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
    return holds(worst, 1e-12, "given that v and h are uncorrelated within a mode")


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

    assert share(0.5, 5.0) > share(1.0, 5.0)
    return Finding(
        share(1.0, 0.0) - share(0.5, 0.0),
        "holds under a condition",
        "failures also push along the shared direction, and more than into the residual, as the paper measures. Smaller "
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

"""The masses of methods (FADE, sec. 8)."""

import math
from collections.abc import Callable

import torch
from torch.func import grad

from rlvr.theory._groups import by_successes, masses_of, weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, SCORE_S, P, answers, scores
from rlvr.theory._tensors import float64, gap, generator
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

section = Chapter("FADE")
Stated = Callable[[torch.Tensor], torch.Tensor]
EVERY, MIXED = slice(None), slice(1, -1)  # solve rates of groups


def _pq(power: float) -> Stated:
    return lambda p: (p * (1 - p)) ** power


def _worst(name: str, stated_s: Stated, stated_f: Stated | None = None, at: slice = EVERY, **settings) -> float:
    """The largest difference from the stated masses at some solve rates; by default m_F is stated as m_S is."""
    p, mass_s, mass_f = masses_of(name, **settings)
    return max(gap(mass_s[at], stated_s(p)[at]), gap(mass_f[at], (stated_f or stated_s)(p)[at]))


@section.says("Sec. 8.1", "enumeration, p = k/16")
def grpo_masses() -> Finding:
    """GRPO has m_S = m_F = sqrt(pq), Skew-R pq sqrt(pq)."""
    return holds(max(_worst("grpo", _pq(0.5)), _worst("skew_r", _pq(1.5))), 1e-12)


@section.says("Sec. 8.2", "enumeration, p = k/16, three values each")
def power_masses() -> Finding:
    """Power-alpha has p q^alpha; its asymmetric form p q^alpha_s and p^alpha_f q; AsymGRPO pq and pq / delta."""

    def power(a: float) -> Stated:
        return lambda p: p * (1 - p) ** a

    worst = 0.0
    for a, f in ((1.0, 1.0), (2.0, 3.0), (0.5, 1.5)):
        worst = max(worst, _worst("power_alpha", power(a), alpha=a))
        worst = max(worst, _worst("asym_power_alpha", power(a), lambda p, f=f: p**f * (1 - p), alpha_s=a, alpha_f=f))
        worst = max(worst, _worst("asym_grpo", _pq(1.0), lambda p, a=a: p * (1 - p) / a, delta=a))
    return holds(worst, 1e-12)


@section.says(
    "Sec. 8.2, Eq. 12-14", "groups of 8 with random lengths, 1 to 7 successes, alpha = 0.1, 0.4 and 1, class means"
)
def t2t() -> Finding:
    """T2T's mean advantages are q C / sigma over successes and -p C / sigma over failures, C = 1 - alpha p L_S - alpha
    q L_F."""
    lengths = torch.randint(10, 100, (8,), generator=generator(2)).double()
    share = lengths / lengths.max()

    def difference(rewards: torch.Tensor, alpha: float) -> float:
        p = float(rewards.mean())
        q = 1 - p
        c = 1 - alpha * p * share[rewards == 1].mean() - alpha * q * share[rewards == 0].mean()
        sigma = torch.where(rewards == 1, 1 - alpha * p * share, alpha * q * share).std(correction=0)
        weights = weigh("t2t", rewards[None], {"lengths_PG": lengths[None]}, alpha=alpha)[0]
        means = torch.stack([weights[rewards == 1].mean(), weights[rewards == 0].mean()])
        return gap(means, torch.stack([q * c / sigma, -p * c / sigma]))

    return holds(
        max(difference(rewards, alpha) for rewards in by_successes(8)[1:-1] for alpha in (0.1, 0.4, 1.0)),
        1e-12,
        "the update also has the covariance of length and gradient within a class, where the paper writes "
        "`approximately`",
    )


@section.says("Sec. 8.3", "enumeration, p = k/16, p > 0")
def max_rl() -> Finding:
    """MaxRL has m_S = m_F = q."""
    deviation = _worst("max_rl", lambda p: 1 - p, at=slice(1, None))
    return holds(deviation, 1e-12, "at p = 0 the weight is 0/0, taken as 0")


@section.says("Sec. 8.4.1", "enumeration of all 5^k groups, k = 2, 3, 4, against the gradient of pass@k")
def tang() -> Finding:
    """Tang's leave-one-out advantage has expected masses k p q^(k-1) and 0, and follows pass@k."""
    worst = 0.0
    for k in (2, 3, 4):
        groups = answers(k)
        weights = weigh("pass_at_k_loo", RIGHT[groups])
        update = ((weights[..., None] * scores(PI)[groups]).sum(1) * PI[groups].prod(1)[:, None]).sum(0)
        stated = k * P * (1 - P) ** (k - 1)
        gradient = grad(lambda theta, k=k: 1 - (1 - theta.softmax(0) @ RIGHT) ** k)(LOGITS)
        worst = max(worst, gap(update, stated * SCORE_S), gap(update, gradient))
    return holds(worst, 1e-12, "summed over the group; that it is the gradient of pass@k is checked too")


def _chen(rollouts: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """1 - R_k and R_k for 0 to G successes."""
    fail = float64([math.comb(f, k) / math.comb(rollouts, k) for f in range(rollouts, -1, -1)])
    return fail, 1 - fail


@section.says("Sec. 8.4.2", "G = 16, k = 1, 2, 4, 8: the two printed cases, the unified form, the mass")
def chen() -> Finding:
    """Chen's analytic advantages unify to Q (r - p) / sigma_k, with m_S = m_F = p sqrt((1 - R_k) / R_k)."""
    worst, rollouts = 0.0, 16
    for k in (1, 2, 4, 8):
        p, mass_s, mass_f = masses_of("pass_at_k", k=k)
        fail, solved = _chen(rollouts, k)
        inside = (fail > 0) & (fail < 1)
        stated = p[inside] * (fail[inside] / solved[inside]).sqrt()
        worst = max(worst, gap(mass_s[inside], stated), gap(mass_f[inside], stated))
        sigma = (fail * solved).sqrt()
        rest = [math.comb(f - 1, k - 1) / math.comb(rollouts - 1, k - 1) if f else 0.0 for f in range(rollouts, -1, -1)]
        printed = ((fail - float64(rest)) / sigma)[inside]
        worst = max(worst, gap((-mass_f / (1 - p))[inside], printed))
    undefined = float((by_successes(16).sum(1)[1:-1] > 8).double().mean())  # share with fewer than 8 failures
    detail = (
        "sigma_k is not zero; where fewer than k rollouts fail the weight is 0/0 (taken as 0): half of the solve "
        "rates at k = 8, G = 16"
    )
    return conditional(worst, undefined, detail, 1e-12)


@section.says("Sec. 8.4.2, the limit", "G = 16, 256 and 4,096 at k = 2, 4 and 8")
def chen_limit() -> Finding:
    """For G -> infinity Chen's mass is p sqrt(q^k / (1 - q^k))."""

    def error(rollouts: int, k: int) -> float:
        p = torch.arange(1, rollouts, max(1, rollouts // 16), dtype=torch.float64) / rollouts
        failures = [round(rollouts * (1 - float(x))) for x in p]
        fail = float64([math.comb(f, k) / math.comb(rollouts, k) for f in failures])
        limit = ((1 - p) ** k / (1 - (1 - p) ** k)).sqrt() * p
        return gap(p * (fail / (1 - fail)).sqrt(), limit)

    errors = {k: [error(rollouts, k) for rollouts in (16, 256, 4096)] for k in (2, 4, 8)}
    shrinks = all(few > 4 * more > 16 * most for few, more, most in errors.values())
    return holds(
        max(most for *_, most in errors.values()) if shrinks else 1.0,
        1e-3,
        "; ".join(f"k = {k}: {', '.join(f'{e:.1e}' for e in each)}" for k, each in errors.items()) + ", of order 1/G",
    )


@section.says("Sec. 8.4.2, remark", "G = 16, k = 2 to 16: the smallest difference over groups with sigma_k > 0; k = 1")
def wrong_baseline() -> Finding:
    """With the baseline R_k instead of p the masses p (1 - R_k) / sigma_k and q R_k / sigma_k differ for k > 1."""

    def differences(k: int) -> torch.Tensor:
        fail, solved = _chen(16, k)
        p = torch.arange(17).double() / 16
        inside = (fail > 0) & (fail < 1)
        return ((p * fail - (1 - p) * solved) / (fail * solved).sqrt())[inside].abs()

    equal = sum(float((differences(k) < 1e-3).sum()) for k in range(2, 17))
    return holds(float(differences(1).max()) + equal, 1e-12, "R_k > p for 0 < p < 1 and k > 1")


@section.says("Sec. 8.4.3", "enumeration, G = 16, k = 4")
def mix() -> Finding:
    """The mix of pass@1 and pass@k is balanced with mass p (p A_k + q A_1)."""
    p, mass_s, mass_f = masses_of("pass_mix", k=4)
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


@section.says("Sec. 8.5", "enumeration, delta = 0.01, 0.1 and 0")
def asym_rl() -> Finding:
    """AsymRL has m_S = p (q - delta) and m_F = q (p + delta); delta = 0 is mean GRPO."""

    def worst(delta: float) -> float:
        return _worst("asym_shift", lambda p: p * (1 - p - delta), lambda p: (1 - p) * (p + delta), delta=delta)

    return holds(
        max(worst(delta) for delta in (0.01, 0.1, 0.0)),
        1e-12,
        "m_F - m_S = delta, also in unanimous groups; public code of asymmetric REINFORCE has the opposite sign",
    )


@section.says("Sec. 8.6", "G = 20, tau = 0.5 and 0.25, inverse distribution function")
def quantile_rule() -> Finding:
    """The tau-quantile of binary rewards is 0 if and only if p <= tau."""

    def wrong(tau: float) -> float:
        rewards = by_successes(20)
        baseline = rewards - weigh("quantile", rewards, tau=tau)
        p = rewards.mean(1)
        return float(((baseline[:, 0] == 0) != (p <= tau)).sum())

    assert wrong(0.5) == 0
    return fails(
        wrong(0.25),
        "at tau = 0.25 the rule is wrong at 10 of 21 solve rates of 20 rollouts; it is p <= 1 - tau",
        "tau = 1/2",
    )


@section.says("Sec. 8.6, MC-GRPO", "enumeration, G = 16 and 15")
def median() -> Finding:
    """A median baseline has m_S = p for p <= 1/2 and m_F = q for p > 1/2."""

    def stated_s(p: torch.Tensor) -> torch.Tensor:
        return torch.where(p <= 0.5, p, 0 * p)

    def stated_f(p: torch.Tensor) -> torch.Tensor:
        return torch.where(p > 0.5, 1 - p, 0 * p)

    worst = max(_worst("mc_grpo", stated_s, stated_f, rollouts=rollouts) for rollouts in (15, 16))
    rewards = by_successes(16)
    upper = rewards - rewards.sort(dim=1).values[:, 8:9]
    other = gap((upper * rewards).mean(1), stated_s(rewards.mean(1)))
    detail = (
        "with the lower median; with the upper one p = 1/2 of an even group changes sides. The released code also "
        "scales by the MAD"
    )
    return conditional(worst, other, detail, 1e-12)


@section.says("Sec. 8.7", "enumeration, p = k/16, p < 1")
def contrastive() -> Finding:
    """The binary contrastive weight has m_S = m_F = p."""
    deviation = _worst("binary_contrastive", lambda p: p, at=slice(-1))
    return holds(deviation, 1e-12, "at p = 1 the weight of errors is p / 0, and there are none")


@section.says("Sec. 8.8", "enumeration, gamma = 0, 0.3, 0.5, 1")
def power_norm() -> Finding:
    """PowerNorm has (pq)^(1 - gamma); 1/2 is GRPO, 0 is Dr.GRPO."""
    worst = [_worst("power_norm", _pq(1 - gamma), at=MIXED, gamma=gamma) for gamma in (0.0, 0.3, 0.5, 1.0)]
    return holds(max(worst), 1e-12)


@section.says("Sec. 8.9, softmax", "enumeration, G = 16, b = 0.5, 2, 5: sums over the group, and means over rollouts")
def softmax_masses() -> Finding:
    """Softmax weights have m_S = m_F = (e^b - 1) pq / (1 + p (e^b - 1))."""

    def worst(b: float, scale: str) -> float:
        grow = math.expm1(b)
        return _worst("softmax", lambda p: grow * p * (1 - p) / (1 + p * grow), beta=b, scale=scale)

    return conditional(
        max(worst(b, "group") for b in (0.5, 2.0, 5.0)),
        worst(2.0, "none"),
        "masses are sums over the group. Sec. 8.1 to 8.8 leave the factor G of that sum out (GRPO's is G sqrt(pq)), so "
        "beside them softmax is 1/G as large as the printed masses suggest",
        1e-12,
    )


@section.says(
    "Sec. 8.9, softmax limits",
    "weights at b = 1e-6 (over b) and 60, G = 16, scaled by G, against Dr.GRPO, Tang's and MaxRL",
)
def softmax_limits() -> Finding:
    """b -> 0 recovers Dr.GRPO; b -> infinity converges to the pass@k advantage."""
    rewards = by_successes(16)[1:]
    small, large = (weigh("softmax", rewards, beta=beta, scale="group") for beta in (1e-6, 60.0))
    dr_grpo, tang, max_rl = (weigh(name, rewards) for name in ("dr_grpo", "pass_at_k_loo", "max_rl"))
    chen = [weigh("pass_at_k", rewards, k=k) for k in (2, 4, 8, 16)]
    assert gap(small / 1e-6, dr_grpo) < 1e-5 and gap(large, max_rl) < 1e-9
    return fails(
        min(gap(large / 16, tang), *(gap(large, other) for other in chen)),
        "b -> infinity is MaxRL (m = q): of 16 rollouts two successes get 7/16 each, where Tang's advantage is 0; "
        "Chen's differs at every k",
        "b -> 0 after division by b",
    )


@section.says("Sec. 8.9, LogMeanExp", "enumeration of the leave-one-out weight, G = 16, b = 1")
def log_mean_exp() -> Finding:
    """LogMeanExp has m_S = p e^b / (p e^b + q), m_F = q / (p e^b + q): sign-biased to successes."""
    p, mass_s, mass_f = masses_of("log_mean_exp")
    z, inside = 1 + p * math.expm1(1.0), slice(1, 16)
    stated_s, stated_f = p * math.e / z, (1 - p) / z
    near = p * (1 - p) * math.expm1(1.0) / z
    return fails(
        max(gap(16 * mass_s[inside], stated_s[inside]), gap(16 * mass_f[inside], stated_f[inside])),
        f"at p = 1/4, summed over the group: {16 * float(mass_s[4]):.3f} and {16 * float(mass_f[4]):.3f} against "
        f"{float(stated_s[4]):.3f} and {float(stated_f[4]):.3f}: the derivation keeps the normaliser at G when one "
        "reward is left out",
        "nearly balanced, pq (e^b - 1) / (b (1 + p (e^b - 1))) in sum, to "
        f"{16 * max(gap(mass_s[inside], near[inside] / 16), gap(mass_f[inside], near[inside] / 16)):.3f}",
    )


@section.says(
    "Sec. 8.9, LogMeanExp limits",
    "weights at b = 1e-5 and 300 against REINFORCE with rewards of either sign, RLOO / G and Tang's, G = 16",
)
def log_mean_exp_limits() -> Finding:
    """b -> 0 gives m_S -> p, m_F -> q (REINFORCE); b -> infinity gives m_S -> 1, m_F -> 0."""
    rewards = by_successes(16)
    small, large = (weigh("log_mean_exp", rewards, beta=beta) for beta in (1e-5, 300.0))
    rloo, tang = weigh("rloo", rewards), weigh("pass_at_k_loo", rewards)
    signed = 2 * rewards - 1
    assert gap(small, rloo / 16) < 1e-5 and gap(large, tang) < 0.02
    return fails(
        gap(16 * small, signed),
        "b -> 0 is RLOO / G, m_S = m_F; at b -> infinity only the sole success of a group has weight (Tang's pass@k, "
        "k = G)",
        "m_F -> 0 for b -> infinity",
    )


@section.says("Sec. 8.10", "enumeration, base Dr.GRPO, lambda = 1, C = 0.4")
def ha_dw() -> Finding:
    """HA-DW's negative mass is that of Dr.GRPO, and only the positive one is modulated."""
    p, mass_s, mass_f = masses_of("ha_dw", state={"anchor": 0.4}, base="dr_grpo", lam=1.0)
    assert gap(mass_s, p * (1 - p) * torch.exp(0.4 - p)) < 1e-12
    return fails(
        gap(mass_f, p * (1 - p)),
        "the exponent's sign follows A, so that m_F = pq e^(p - C); largest ratio "
        f"{float((mass_f[1:-1] / (p * (1 - p))[1:-1]).max()):.2f}",
        "at p = C",
    )


@section.says("Sec. 8.11", "enumeration, p = k/16")
def relu() -> Finding:
    """The ReLU advantage has m_S = pq and m_F = 0."""
    return holds(_worst("relu", _pq(1.0), lambda p: 0 * p), 1e-12)

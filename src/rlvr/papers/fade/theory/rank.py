"""Regimes of pass@k, and the rank of the update (FADE, sec. 4.2, 12 and 15)."""

import itertools
import math

import numpy as np
import torch
from scipy import integrate, special, stats

from rlvr.theory._tensors import float64, normal
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

section = Chapter("FADE")


@section.says("Theorem 12.1, power-law regime", "Beta(b, c) laws in closed form, k = 1e6")
def power_law() -> Finding:
    """A density ~ C p^(b-1) of solve rates near 0 gives 1 - pass@k ~ C Gamma(b) k^(-b)."""
    worst, k = 0.0, 1e6
    for b, c in ((0.3, 2.0), (0.7, 1.0), (1.5, 3.0)):
        log_exact = special.betaln(b, c + k) - special.betaln(b, c)
        log_stated = -special.betaln(b, c) + special.gammaln(b) - b * math.log(k)
        worst = max(worst, abs(math.expm1(log_exact - log_stated)))
    return holds(worst, 1e-5, "relative error at k = 1e6, of order 1/k")


@section.says(
    "Theorem 12.1, rapidly decaying regime",
    "quadrature of E[(1 - p)^k] for density ~ exp(-c / p^a), (c, a) = (0.2, 1), (1, 0.5), (1, 2): local slopes in "
    "log k keep falling",
)
def fast_decay() -> Finding:
    """A density below exp(-c / p^a) near 0 gives 1 - pass@k smaller than every power of 1/k."""

    def log_fail(k: float, c: float, a: float) -> float:
        """Up to a constant: the integrand over its peak, at c a / p^(a + 1) = k."""
        peak = (c * a / k) ** (1 / (a + 1))

        def exponent(p: float) -> float:
            return k * math.log1p(-p) - c / p**a

        def integrand(p: float) -> float:
            return math.exp(min(exponent(p) - exponent(peak), 700.0)) if 0 < p < 1 else 0.0

        return exponent(peak) + math.log(integrate.quad(integrand, 0, 1, limit=500, points=[peak, 2 * peak])[0])

    ks = [10.0**e for e in (1, 2, 3, 4)]
    slopes = {}
    for c, a in ((0.2, 1.0), (1.0, 0.5), (1.0, 2.0)):
        logs = [log_fail(k, c, a) for k in ks]
        slopes[a] = [(y - x) / math.log(10) for x, y in itertools.pairwise(logs)]
    falling = all(later < 1.5 * earlier < 0 for each in slopes.values() for earlier, later in itertools.pairwise(each))
    return holds(
        0.0 if falling else 1.0,
        0.0,
        "slopes from k = 10 to 10^4: "
        + "; ".join(f"{', '.join(f'{s:.1f}' for s in each)} (a = {a:g})" for a, each in slopes.items()),
    )


@section.says(
    "Proposition 15.1, Eq. 33",
    "SVD of a mean gradient (12 x 8) with and without its residual; the limit is the law of large numbers",
)
def rank_one_share() -> Finding:
    """The rank-1 share tends to |E[A a v]|^2 / (|E[A a v]|^2 + |R|^2), and is 1 if and only if R = 0."""

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


@section.says(
    "Sec. 4.2",
    "a law of four equally likely tokens: u_1 is the mean gradient's top right singular vector, and the residuals have "
    "mean zero, so that independent draws are uncorrelated",
)
def uncorrelated_residuals() -> Finding:
    """As the residuals' mean pairwise correlation goes to 0, they cancel, the higher-rank term vanishes and r_1 goes to
    1."""
    v = torch.eye(4, dtype=torch.float64) - 1 / 4  # e_y - pi
    a = float64([1.0, 1.0, -1.0, -1.0])
    hidden = torch.cat([torch.full((4, 1), 2.0, dtype=torch.float64), 1.6 * v], dim=1)
    _, s, right = torch.linalg.svd(torch.einsum("k,kv,kh->vh", a, v, hidden) / 4)
    u = right[0]
    beside = hidden - torch.outer(hidden @ u, u)
    residual = torch.einsum("k,kv,kh->vh", a, v, beside) / 4
    share = float(s[0] ** 2 / (s**2).sum())
    assert abs(abs(float(u[0])) - 1) < 1e-12 and s[0] > 1.5 * s[1]  # u_1 is well defined: the first coordinate
    correlation = float((beside.mean(0) ** 2).sum() / (beside**2).sum(1).mean())
    assert correlation < 1e-12
    return fails(
        1 - share,
        "v_i = e_i - 1/4, A = (1, 1, -1, -1), h_i = 2 u_1 + 1.6 (e_i - 1/4): mean pairwise correlation 0, and the mean "
        f"gradient has |R|^2 = {float((residual**2).sum()):.2f} and a rank-1 share of {share:.2f}",
        "where A v and the residual are uncorrelated too",
    )


@section.says("Corollary 15.2", "construction for K = 2, 4, 8")
def failure_modes() -> Finding:
    """K equally likely orthogonal failure modes have |R_F|^2 = c^2 mu^2 / K."""
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


@section.says(
    "Corollary 15.2, its consequence",
    "rank-1 share of a mean gradient, delta = 1 and 0.5: failures with and without a part along the shared direction",
)
def delta_and_rank() -> Finding:
    """delta < 1 amplifies the shrinking failure residual, and so accelerates the collapse to rank 1."""
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
        "failures also push along the shared direction, and enough to outgrow their residual. Smaller delta enlarges "
        f"(q / delta) R_F; without such a push the rank-1 share falls, here from {share(1.0, 0.0):.2f} to "
        f"{share(0.5, 0.0):.2f}",
    )


TOKENS = {"successes": 8_968, "failures": 54_700}  # sec. 15.2


def residual_norm(systematic: float, tokens: int) -> float:
    """sqrt(E |R|^2) of an entry of the mean of independent v (x) h: two equally likely values, systematic +- 1.

    By enumeration of the binomial; it is sqrt(systematic^2 + 1 / tokens).
    """
    k = np.arange(tokens + 1)
    return math.sqrt(float(stats.binom.pmf(k, tokens, 0.5) @ (systematic + 2 * k / tokens - 1) ** 2))


def residual_ratio(successes: float, failures: float) -> float:
    """|R_F| / |R_S| for systematic parts in units of the successes' noise, 1 / sqrt(N_S)."""
    unit = TOKENS["successes"] ** -0.5
    sizes = {"successes": successes * unit, "failures": failures * unit}
    norm_s, norm_f = (residual_norm(sizes[group], tokens) for group, tokens in TOKENS.items())
    return norm_f / norm_s


@section.says(
    "Sec. 15.2, residual norms and CLT baseline",
    "E |R|^2 of means of 8,968 and 54,700 independent tokens by enumeration of the binomial, with and without a "
    "systematic part in either group",
)
def decorrelated_failures() -> Finding:
    """That |R_F| / |R_S| = 0.73 to 0.79 is above sqrt(N_S / N_F) = 0.40, its value for equal noise, confirms that
    failures are more decorrelated than successes."""
    noise, only_s, only_f, both = (residual_ratio(*sizes) for sizes in ((0, 0), (2, 0), (0, 2), (2, 1.5)))
    assert abs(noise - math.sqrt(TOKENS["successes"] / TOKENS["failures"])) < 1e-9
    least = [math.sqrt(0.73**2 * (1 + size**2) - noise**2) for size in (0.0, 2.0)]  # of the failures' systematic part
    assert all(abs(residual_ratio(size, part) - 0.73) < 1e-9 for size, part in zip((0.0, 2.0), least, strict=True))
    return fails(
        noise - only_s,
        f"E |R_g|^2 = |M_g|^2 + noise / N_g, M_g the mean of v (x) h: the ratio is {noise:.3f} for noise alone, and if "
        f"only successes have an M (of twice their noise) it falls, to {only_s:.3f}. Above 0.40 it needs |M_F| > 0.40 "
        f"|M_S|, or more noise per token in failures: {only_f:.2f} with M_F alone, {both:.2f} with both. More failure "
        "tokens alone would make a larger gap than the measured one",
        "where noise is small in both groups: then the ratio is |M_F| / |M_S|, and below 1; the baseline plays no part",
    )


@section.says("Corollary 15.3", "SVD of a sum of 50 steps; steps that are nearly w_t x u, with |cos| = 1 between them")
def accumulation() -> Finding:
    """Steps that are nearly w_t x u, along one direction u, add up to a matrix of rank 1."""
    u = torch.nn.functional.normalize(normal(9), dim=0)
    total = torch.stack([torch.outer(normal(7, seed=t), u) for t in range(50)]).sum(0)
    s = torch.linalg.svdvals(total)

    basis = torch.eye(7, 9, dtype=torch.float64)  # two orthogonal directions on either side
    shared, beside = torch.outer(basis[:, 0], basis[0]), torch.outer(basis[:, 1], basis[1])
    steps = [(1.0 if t % 25 < 13 else -1.0) * shared + 0.04 * beside for t in range(50)]

    def share(matrix: torch.Tensor) -> float:
        values = torch.linalg.svdvals(matrix)
        return float(values[0] ** 2 / (values**2).sum())

    least, added = min(share(step) for step in steps), share(torch.stack(steps).sum(0))
    return conditional(
        float(s[1] / s[0]),
        1 - added,
        "each step is w_t x u exactly, or the w_t do not cancel. Of 50 steps that have a rank-1 share of "
        f"{least:.3f} and the same u, 26 with w and 24 with -w, the sum has a share of {added:.2f}: |cos| = 1 between "
        "successive steps, which sec. 15.2 measures, does not see the sign",
        1e-12,
    )

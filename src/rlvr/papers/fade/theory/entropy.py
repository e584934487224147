"""How a step changes entropy (FADE, sec. 4.1 and 13)."""

import torch
from torch.func import grad

from rlvr.theory._groups import class_masses, mixed_groups, weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, scores
from rlvr.theory._tensors import gap
from rlvr.theory.statement import Chapter, Finding, conditional, fails

section = Chapter("FADE")


def _entropy_slope(direction: torch.Tensor) -> float:
    return float(grad(lambda theta: -(theta.softmax(0) * theta.log_softmax(0)).sum())(LOGITS) @ direction)


def _advantage(shift: float) -> torch.Tensor:
    return 1.2 * RIGHT - 0.4 * (1 - RIGHT) + shift


@section.says(
    "Sec. 4.1, Eq. 7; theorem 13.1",
    "derivative of entropy along the exact natural gradient, 5 answers, as a constant is added to A",
)
def entropy_change() -> Finding:
    """Under a local projection assumption a step changes entropy by eta ((m_S - m_F) H - Cov(A, log pi)): a drift in
    H."""
    log_pi = PI.log()
    entropy = float(-(PI * log_pi).sum())
    stated, slopes, covariances = [], [], []
    for shift in (0.0, 0.5, -0.5):
        a = _advantage(shift)
        mean = float(PI @ a)
        cov = float(PI @ (a * log_pi)) - mean * float(PI @ log_pi)
        natural = a - mean  # the natural gradient of a softmax policy, up to a constant of the logits
        slopes.append(_entropy_slope(natural))
        stated.append(mean * entropy - cov)
        covariances.append(-cov)
    assert max(abs(slope - c) for slope, c in zip(slopes, covariances, strict=True)) < 1e-12
    vanilla = [_entropy_slope((PI * _advantage(shift)) @ scores(PI)) for shift in (0.0, 0.5)]
    assert abs(vanilla[0] - vanilla[1]) < 1e-12
    return fails(
        max(abs(slope - s) for slope, s in zip(slopes, stated, strict=True)),
        "adding c to every A moves the stated value by c H and the true one by 0, for the natural and for the "
        "vanilla gradient, since scores have zero mean. With the formula's sign m_S > m_F would raise entropy, and "
        "sec. 4.1 says that it accelerates collapse",
        "Delta H = -eta Cov(A, log pi), exactly, for the natural gradient",
    )


@section.says(
    "Theorem 13.1, Eq. 24", "inner product in the inverse Fisher metric, 5 answers, A with mean 0 and 0.5 above"
)
def projection() -> Finding:
    """Under the Fisher metric E[log pi grad log pi] . E[A grad log pi] is E[A log pi]."""
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


@section.says("Sec. 4.1", "AsymGRPO, delta = 0.5, p = k/16")
def advantage_ratio() -> Finding:
    """The symbol A_S / A_F, defined as m_S p / (m_F q), is the ratio of the two weights."""
    rewards, p = mixed_groups(16)
    weights = weigh("asym_grpo", rewards)
    ratio = weights[:, 0] / -weights[:, -1]
    mass_s, mass_f = class_masses(weights, rewards)
    assert gap(ratio, mass_s * (1 - p) / (mass_f * p)) < 1e-12
    return fails(
        gap(ratio, mass_s * p / (mass_f * (1 - p))),
        "masses are m_S = p A_S and m_F = q A_F, so A_S / A_F = m_S q / (m_F p); at p = 0.25 the two differ by a "
        "factor of 9",
        "as a measure of its own, rho(p), as Table 7 has it",
    )

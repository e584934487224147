"""A constant that is added to every policy weight: where it changes the expected gradient, and where it does not.

PSR has the weight r, NSR r - 1, W-REINFORCE (1 + lambda) r - 1: up to a factor they differ by a constant.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.func import grad

from rlvr.theory._groups import weigh
from rlvr.theory._policy import LOGITS, PI, RIGHT, answers, scores
from rlvr.theory._tensors import float64, gap
from rlvr.theory.statement import Chapter, Finding, conditional, holds

section = Chapter("FADE")
LAM = 0.1
GROUPS = answers(4)


def _expected(weights_NG: Tensor) -> Tensor:
    """The gradient of a group's mean, expected over all groups of four on-policy answers."""
    chance_N = PI[GROUPS].prod(1)
    return torch.einsum("n,ng,ngv->v", chance_N, weights_NG, scores(PI)[GROUPS]) / GROUPS.shape[1]


def _noise(weight: Tensor) -> float:
    """The trace of one rollout's gradient covariance."""
    gradient = weight[:, None] * scores(PI)
    return float(PI @ (gradient**2).sum(1) - ((PI @ gradient) ** 2).sum())


@section.says("Sec. 2.1, Eq. 2 (ours)", "the shipped weights of all 5^4 groups of four on-policy answers")
def constant_weights() -> Finding:
    """On policy and with one normaliser, weights that differ by a constant have the same expected gradient, since
    E[grad log pi] = 0: PSR and NSR have one and the same, W-REINFORCE 1 + lambda times it."""
    psr, nsr = (_expected(weigh(name, RIGHT[GROUPS])) for name in ("psr", "nsr"))
    weighted = _expected(weigh("w_reinforce", RIGHT[GROUPS], lam=LAM))
    noise = [_noise(weight) for weight in (RIGHT, RIGHT - 1, (1 + LAM) * RIGHT - 1)]
    return holds(
        max(gap(psr, nsr), gap(weighted, (1 + LAM) * psr)),
        1e-12,
        "their noise differs: the variance of a rollout's gradient is "
        + ", ".join(f"{v:.3f}" for v in noise)
        + f" for PSR, NSR and W-REINFORCE (lambda = {LAM}), at solve rate {float(PI @ RIGHT):.2f}",
    )


def moved() -> Tensor:
    """The policy after other rollouts' updates."""
    return (LOGITS + float64([0.5, -0.2, -0.4, 0.3, 0.0])).softmax(0)


def stale(weight: Tensor, form: Literal["ratio", "clipped", "none"]) -> Tensor:
    """The expected gradient at the moved policy of answers of the old one, by the form of their importance ratio."""
    now = moved()
    ratio = now / PI
    if form == "none":
        ratio = torch.ones_like(ratio)
    elif form == "clipped":
        ratio = torch.where(((weight > 0) & (ratio > 1.2)) | ((weight < 0) & (ratio < 0.8)), 0.0, ratio)
    return (PI * ratio * weight) @ scores(now)


@section.says(
    "Sec. 2.1, Eq. 2 (ours)",
    "enumeration over 5 answers of an old policy, at a policy whose ratios to it are 0.6 to 1.6; clip range 0.2",
)
def constant_weights_stale() -> Finding:
    """The same holds in later minibatches, where the rollouts are those of an older policy."""

    def difference(form: Literal["ratio", "clipped", "none"]) -> float:
        return gap(stale(RIGHT, form), stale(RIGHT - 1, form))

    return conditional(
        difference("ratio"),
        difference("clipped"),
        "every rollout has its importance ratio, none is clipped, and other rollouts moved the policy. PSR and NSR "
        f"differ by {difference('clipped'):.3f} with PPO's clip, which stops rising answers of PSR and falling ones of "
        f"NSR, and by {difference('none'):.3f} without a ratio",
        1e-12,
    )


ROOT_LOGITS = float64([0.2, -0.4, 0.5])  # two tokens that continue, and the end
NEXT_LOGITS = float64([[0.7, -0.1], [-0.3, 0.4]])  # the second token after each of the two
RESPONSES = [(2,), (0, 0), (0, 1), (1, 0), (1, 1)]
LENGTHS = float64([len(response) for response in RESPONSES])


def _log_pi(theta: Tensor) -> Tensor:
    """log pi of the five responses, summed over their tokens."""
    root, following = theta[:3].log_softmax(0), theta[3:].view(2, 2).log_softmax(1)
    return torch.stack([root[r[0]] + (following[r] if len(r) == 2 else 0.0) for r in RESPONSES])


def _token_gradient(weight: Callable[[Tensor], Tensor], divisor: Callable[[Tensor], Tensor]) -> Tensor:
    """The expected gradient of pairs of responses: sums over tokens, times `weight`, over `divisor` of the lengths."""
    logits, pairs = torch.cat([ROOT_LOGITS, NEXT_LOGITS.flatten()]), answers(2)
    chance = _log_pi(logits).exp()[pairs].prod(1)

    def loss(theta: Tensor) -> Tensor:
        return chance @ (weight(RIGHT[pairs]) * _log_pi(theta)[pairs] / divisor(LENGTHS[pairs])).sum(1)

    return grad(loss)(logits)


@section.says(
    "Sec. 2.1, Eq. 2 (ours)", "all pairs of five responses of one or two tokens, on policy; autograd of three losses"
)
def constant_weights_tokens() -> Finding:
    """The same holds however a loss averages over tokens."""

    def difference(divisor: Callable[[Tensor], Tensor]) -> float:
        psr, nsr = (_token_gradient(lambda r, name=name: weigh(name, r), divisor) for name in ("psr", "nsr"))
        return gap(psr, nsr)

    fixed = difference(lambda lengths: torch.full_like(lengths, 4.0))
    batch = difference(lambda lengths: lengths.sum(1, keepdim=True).expand_as(lengths))
    each = difference(lambda lengths: 2 * lengths)
    return conditional(
        fixed,
        max(batch, each),
        "the divisor is fixed, as in Dr.GRPO's sum. Where it is a length, the constant rewards or punishes length: PSR "
        f"and NSR differ by {batch:.3f} with the mean over a batch's tokens, by {each:.3f} with each response's mean",
        1e-12,
    )


@section.says("Sec. 2.1, Eq. 2 (ours)", "all 5^4 groups of four on-policy answers: the shipped RLOO, Dr.GRPO and GRPO")
def constant_weights_groups() -> Finding:
    """The same holds of a baseline that a group's own rewards set."""
    psr, rloo, mean, grpo = (_expected(weigh(name, RIGHT[GROUPS])) for name in ("psr", "rloo", "dr_grpo", "grpo"))
    size = float(psr.norm())
    assert gap(mean, psr * 3 / 4) < 1e-12
    assert gap(grpo / grpo.norm(), psr / size) < 1e-12
    return conditional(
        gap(rloo, psr),
        gap(mean, psr),
        "the baseline leaves out the rollout itself, as RLOO's does. The group's mean shrinks the gradient by 1 / G, "
        f"and GRPO's std changes it by a factor that depends on the prompt (here {float(grpo.norm()) / size:.2f}): the "
        "direction of one prompt stays, the balance between prompts does not",
        1e-12,
    )

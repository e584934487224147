"""What an estimator may need beside the rewards: the one table that trainers, commands, the theory and tests read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Responses:
    """A step's responses before its first update: log pi of their tokens (P, G, T; zeros on padding), their lengths."""

    old_PGT: Tensor
    reference_PGT: Tensor
    lengths_PG: Tensor


@dataclass(frozen=True)
class Input:
    """A tensor (P, G), or a `number` per step, in a line of `rlvr weigh` and as a trainer computes it.

    `fields` are the line's fields, and `of_fields` what becomes of them where they are several.
    """

    meaning: str
    fields: tuple[str, ...]
    of_step: Callable[[Responses], Any]
    of_fields: Callable[..., Any] = lambda value: value
    number: bool = False
    positive: bool = False
    needs_reference: bool = False


INPUTS = {
    "lengths_PG": Input(
        "tokens of the response", ("lengths",), lambda step: step.lengths_PG.to(step.old_PGT.dtype), positive=True
    ),
    "logp_PG": Input(  # before the first update, the policy is the one that sampled
        "log pi of the response, nats; taken anew at each minibatch", ("logp",), lambda step: step.old_PGT.sum(-1)
    ),
    "logp_old_PG": Input(
        "log pi of the response as it was sampled, nats", ("logp_old",), lambda step: step.old_PGT.sum(-1)
    ),
    "logp_ref_PG": Input(
        "log pi_ref of the response, nats", ("logp_ref",), lambda step: step.reference_PGT.sum(-1), needs_reference=True
    ),
    "log_ratio_PG": Input(
        "log pi - log pi_ref of the response, nats",
        ("logp", "logp_ref"),
        lambda step: (step.old_PGT - step.reference_PGT).sum(-1),
        of_fields=lambda logp_PG, logp_ref_PG: logp_PG - logp_ref_PG,
        needs_reference=True,
    ),
    "entropy": Input(
        "a response's mean surprisal (FADE, Algorithm 2: H_t), nats per token",
        ("entropy",),
        lambda step: float((-step.old_PGT.sum(-1) / step.lengths_PG).mean()),
        number=True,
    ),
}


def inputs_of_step(old_PGT: Tensor, reference_PGT: Tensor, lengths_PG: Tensor) -> dict[str, Any]:
    """All inputs, from log pi of tokens before a step's first update (zeros on padding)."""
    step = Responses(old_PGT, reference_PGT, lengths_PG)
    return {name: an_input.of_step(step) for name, an_input in INPUTS.items()}


def inputs_at_reference(rewards_PG: Tensor) -> dict[str, Any]:
    """All inputs where lengths and confidence are equal and the policy is its reference: where closed forms hold."""
    tokens_PGT = rewards_PG.new_full((*rewards_PG.shape, 8), -0.5)
    return inputs_of_step(tokens_PGT, tokens_PGT, rewards_PG.new_full(rewards_PG.shape, 8.0))

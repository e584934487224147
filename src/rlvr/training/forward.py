"""What a trainer computes with, by device and engine: forward pass, sampler, optimizer, microbatches."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from rlvr.policies.decoder import Decoder
from rlvr.policies.native.trained import FlatAdamW, NativeModel
from rlvr.policies.sampler import Samples, sample
from rlvr.policies.transformers_pass import TransformersPass

Pass = Decoder | TransformersPass | NativeModel
Model = Any  # PreTrainedModel | NativeModel
Optimizer = torch.optim.Optimizer | FlatAdamW
Sampler = Callable[..., Samples]  # `rlvr.policies.sampler.sample` with a policy in it


@dataclass(frozen=True)
class Microbatch:
    """The limits of one forward pass: distinct responses; tokens of prompts and responses, padding included.

    None: no limit. A single response may exceed `tokens`.
    """

    sequences: int | None = None
    tokens: int | None = None

    def ends(self, lengths: list[int]) -> list[int]:
        """The end of each microbatch, in rows, given the rows' lengths with their prompts."""
        ends, first, longest = [], 0, 0
        for row, length in enumerate(lengths):
            rows, longest = row + 1 - first, max(longest, length)
            full = self.sequences is not None and rows > self.sequences
            if rows > 1 and (full or (self.tokens is not None and rows * longest > self.tokens)):
                ends.append(row)
                first, longest = row, length
        return [*ends, len(lengths)]


def training_pass(model: Model, *, frozen: bool = False) -> Pass:
    """The native engine for its models; else `Decoder` on a CPU, transformers' own pass on a GPU.

    `frozen`: without gradients, until the weights change.
    """
    if isinstance(model, NativeModel):
        return model
    return Decoder(model, frozen=frozen) if model.device.type == "cpu" else TransformersPass(model)


def training_passes(model: Model, parts: int) -> list[Pass]:
    """Passes over parts of a batch, each for a thread of its own: so many of the native engine, one of another model.

    They have the same weights. `gather` adds their gradients up.
    """
    first = training_pass(model)
    return [first, *(model.twin() for _ in range(parts - 1))] if isinstance(model, NativeModel) else [first]


def gather(passes: list[Pass]) -> None:
    """Add the gradients of all other passes to the first one's, in their order."""
    for other in passes[1:]:
        (own,), (weights,) = other.parameters(), passes[0].parameters()  # type: ignore[union-attr]
        if own.grad is not None:  # a batch may have fewer parts than there are passes
            weights.grad, own.grad = own.grad if weights.grad is None else weights.grad + own.grad, None


def microbatch(model: Model, sequences: int, tokens_per_gpu: int) -> Microbatch:
    """The limits on the model's device: `rl.sequences_per_microbatch` on a CPU, `execution.tokens_per_gpu` on a GPU.

    The native engine has none: it computes as much at a time as a cache holds.
    """
    if isinstance(model, NativeModel):
        return Microbatch()
    return Microbatch(sequences=sequences) if model.device.type == "cpu" else Microbatch(tokens=tokens_per_gpu)


def critic_of(model: Model) -> Model:
    """A copy of a policy with a linear head for values, `score`, whose weights are 0."""
    if isinstance(model, NativeModel):
        return model.with_value_head()
    critic = copy.deepcopy(model)
    critic.score = torch.nn.Linear(model.config.get_text_config().hidden_size, 1, device=model.device)
    torch.nn.init.zeros_(critic.score.weight)
    torch.nn.init.zeros_(critic.score.bias)
    return critic


def sampler(model: Model) -> Sampler:
    """Samples of the model with its present weights; make it anew after an update."""
    return model.sample if isinstance(model, NativeModel) else partial(sample, Decoder(model, frozen=True))


def adamw(model: Model, *, lr: float, betas: tuple[float, float], weight_decay: float) -> Optimizer:
    """torch's fused AdamW."""
    settings: dict[str, Any] = {"lr": lr, "betas": betas, "weight_decay": weight_decay}
    if isinstance(model, NativeModel):
        return FlatAdamW(model.flat, **settings)
    return torch.optim.AdamW(model.parameters(), **settings, fused=True)

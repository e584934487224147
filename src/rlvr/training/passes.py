"""A trainer's forward pass and its microbatches, by device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlvr.policies.decoder import Decoder
from rlvr.policies.transformers_pass import TransformersPass

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Pass = Decoder | TransformersPass


@dataclass(frozen=True)
class Microbatch:
    """The limits of one forward pass: distinct responses; tokens of prompts and responses, padding included.

    None: no limit. One response alone may exceed `tokens`.
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


def training_pass(model: PreTrainedModel, *, frozen: bool = False) -> Pass:
    """`Decoder` on a CPU, transformers' own pass on a GPU; `frozen`: without gradients, until the weights change."""
    return Decoder(model, frozen=frozen) if model.device.type == "cpu" else TransformersPass(model)


def microbatch(model: PreTrainedModel, sequences: int, tokens_per_gpu: int) -> Microbatch:
    """The limits on the model's device: `rl.sequences_per_microbatch` on a CPU, `execution.tokens_per_gpu` on a GPU."""
    return Microbatch(sequences=sequences) if model.device.type == "cpu" else Microbatch(tokens=tokens_per_gpu)

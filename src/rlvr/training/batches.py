"""Tensors of grouped sequences: padding, chunks of like length, log-probabilities.

Dimensions: P prompts, G responses a prompt, L prompt tokens, T response tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rlvr.policies.decoder import GroupedDecoder

# Streams of the keyed noise: (seed, stream, counter) names every random number of a run.
STREAM_ORDER, STREAM_ROLLOUT, STREAM_PROBE, STREAM_EVALUATION = range(4)


@dataclass
class Groups:
    """Prompts, padded on the right, with G responses each, padded on the right."""

    prompts_PL: Tensor
    prompt_lengths_P: Tensor
    tokens_PGT: Tensor
    lengths_PG: Tensor

    def mask_PGT(self) -> Tensor:
        steps_T = torch.arange(self.tokens_PGT.shape[2], device=self.lengths_PG.device)
        return steps_T < self.lengths_PG[..., None]

    def select(self, rows: Tensor) -> Groups:
        """Some prompts, with padding that no row needs cut away."""
        lengths_PG, prompt_lengths_P = self.lengths_PG[rows], self.prompt_lengths_P[rows]
        return Groups(
            self.prompts_PL[rows, : int(prompt_lengths_P.max())],
            prompt_lengths_P,
            self.tokens_PGT[rows, :, : int(lengths_PG.max())],
            lengths_PG,
        )


def pad_prompts(prompts: list[list[int]], pad: int, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Prompts (P, L) padded on the right, and their lengths (P)."""
    lengths = [len(prompt) for prompt in prompts]
    longest = max(lengths)
    rows = [prompt + [pad] * (longest - len(prompt)) for prompt in prompts]
    return torch.tensor(rows, device=device), torch.tensor(lengths, device=device)


def chunks(rows: Tensor, lengths_PG: Tensor, sequences: int) -> Iterator[Tensor]:
    """Split prompt indices into chunks of at most `sequences` sequences (one group at least), by length."""
    longest_P = lengths_PG[rows].max(dim=1).values
    ordered = rows[torch.argsort(longest_P, stable=True)]
    yield from ordered.split(max(1, sequences // lengths_PG.shape[1]))


def token_logprobs(decoder: GroupedDecoder, groups: Groups) -> Tensor:
    """log pi (P, G, T) of every response token, temperature 1; zeros on padding."""
    logprobs_PGT = decoder.logprobs(groups.prompts_PL, groups.prompt_lengths_P, groups.tokens_PGT)
    return logprobs_PGT * groups.mask_PGT()


@torch.no_grad()
def all_logprobs(decoder: GroupedDecoder, groups: Groups, sequences: int) -> Tensor:
    """`token_logprobs` of a whole batch, a chunk at a time, in the shape of `groups.tokens_PGT`."""
    result = torch.zeros(groups.tokens_PGT.shape, device=groups.tokens_PGT.device)
    everyone = torch.arange(len(groups.prompts_PL), device=result.device)
    for rows in chunks(everyone, groups.lengths_PG, sequences):
        part = groups.select(rows)
        result[rows, :, : part.tokens_PGT.shape[2]] = token_logprobs(decoder, part)
    return result


def autocast(precision: str, device: torch.device):
    """The arithmetic of forward and backward passes; weights and optimizer stay float32."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=getattr(torch, precision))


def shuffled(count: int, *key: int) -> np.ndarray:
    """A permutation of range(count), a function of the key."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key))).permutation(count)


class PromptOrder:
    """An endless walk through a training set, a new permutation each epoch; `position` is all its state."""

    def __init__(self, count: int, seed: int):
        self.count, self.seed = count, seed
        self._epoch: tuple[int, np.ndarray] | None = None

    def at(self, position: int) -> int:
        epoch, place = divmod(position, self.count)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, shuffled(self.count, self.seed, STREAM_ORDER, epoch))
        return int(self._epoch[1][place])

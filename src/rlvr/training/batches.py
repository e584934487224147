"""Tensors of grouped sequences: padding, chunks of similar length, log-probabilities.

Dimensions: P prompts, G responses per prompt, L prompt tokens, T response tokens, V vocabulary.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rlvr.policies.noise import STREAM_ORDER
from rlvr.training.forward import Microbatch, Pass


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

    def prompts(self) -> list[Tensor]:
        """The prompts' tokens, without padding."""
        lengths = self.prompt_lengths_P.tolist()
        return [prompt_L[:length].cpu() for prompt_L, length in zip(self.prompts_PL, lengths, strict=True)]

    def select(self, rows: Tensor) -> Self:
        """Some prompts, without padding that no row needs."""
        lengths_PG, prompt_lengths_P = self.lengths_PG[rows], self.prompt_lengths_P[rows]
        return type(self)(
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


@dataclass
class Chunk:
    """Some distinct responses of a batch, N rows of similar length, and the M rollouts equal to them.

    `members_M` indexes the batch's P x G rollouts, `rows_M` the row of each.
    """

    prompts_PL: Tensor
    prompt_lengths_P: Tensor
    prompt_N: Tensor
    tokens_NT: Tensor
    lengths_N: Tensor
    members_M: Tensor
    rows_M: Tensor

    def mask_MT(self) -> Tensor:
        """Mask of each rollout's tokens, without padding."""
        steps_T = torch.arange(self.tokens_NT.shape[1], device=self.lengths_N.device)
        return steps_T < self.lengths_N[self.rows_M, None]


def chunks(groups: Groups, limits: Microbatch) -> Iterator[Chunk]:
    """Chunks of a batch within the limits, shortest first; without limits the batch as it is.

    Identical rollouts of a group are one row: a policy computes it once. The native engine, which has no limits, finds
    them itself.
    """
    prompts, rollouts = groups.lengths_PG.shape
    prompt_M = torch.arange(prompts, device=groups.lengths_PG.device).repeat_interleave(rollouts)
    if limits == Microbatch():
        rows_M, lengths_M, tokens_MT = torch.arange(len(prompt_M)), groups.lengths_PG.flatten(), groups.tokens_PGT
        whole = groups.prompts_PL, groups.prompt_lengths_P, prompt_M, tokens_MT.flatten(0, 1), lengths_M
        yield Chunk(*whole, rows_M, rows_M)
        return
    keys = torch.cat([groups.lengths_PG.view(-1, 1), prompt_M[:, None], groups.tokens_PGT.flatten(0, 1)], dim=1)
    distinct, which_M = torch.unique(keys, dim=0, return_inverse=True)  # sorted: by length, then prompt
    lengths = distinct[:, 0] + groups.prompt_lengths_P[distinct[:, 1]]
    first = 0
    for end in limits.ends(lengths.tolist()):
        part = distinct[first:end]
        used, prompt_N = torch.unique(part[:, 1], return_inverse=True)
        prompt_lengths_P = groups.prompt_lengths_P[used]
        members_M = torch.nonzero((which_M >= first) & (which_M < end)).squeeze(-1)
        yield Chunk(
            groups.prompts_PL[used, : int(prompt_lengths_P.max())],
            prompt_lengths_P,
            prompt_N,
            part[:, 2 : 2 + int(part[-1, 0])],
            part[:, 0],
            members_M,
            which_M[members_M] - first,
        )
        first = end


# A pass's numbers (N, T) of response tokens, from prompts, their lengths, each row's prompt, responses, their lengths.
OfTokens = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def of_tokens(function: OfTokens, chunk: Chunk) -> Tensor:
    """A pass's numbers (M, T) of every response token of the chunk's rollouts; zeros on padding."""
    prompts = chunk.prompts_PL, chunk.prompt_lengths_P, chunk.prompt_N
    return function(*prompts, chunk.tokens_NT, chunk.lengths_N)[chunk.rows_M] * chunk.mask_MT()


@torch.no_grad()
def all_of_tokens(function: OfTokens, groups: Groups, limits: Microbatch) -> Tensor:
    """`of_tokens` of a whole batch, chunk by chunk, in the shape of `groups.tokens_PGT`."""
    result = torch.zeros(groups.tokens_PGT.shape, device=groups.tokens_PGT.device)
    for chunk in chunks(groups, limits):
        result.view(-1, result.shape[-1])[chunk.members_M, : chunk.tokens_NT.shape[1]] = of_tokens(function, chunk)
    return result


def token_logprobs(forward: Pass, chunk: Chunk) -> Tensor:
    """log pi (M, T) of every response token of the chunk's rollouts, temperature 1; zeros on padding."""
    return of_tokens(forward.logprobs, chunk)


def all_logprobs(forward: Pass, groups: Groups, limits: Microbatch) -> Tensor:
    """log pi of a whole batch, without gradients, in the shape of `groups.tokens_PGT`; zeros on padding."""
    return all_of_tokens(forward.logprobs, groups, limits)


def autocast(precision: str, device: torch.device):
    """The arithmetic of forward and backward passes; weights and optimizer stay float32."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=getattr(torch, precision))


def shuffled(count: int, *key: int) -> np.ndarray:
    """A permutation of range(count), a function of the key."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key))).permutation(count)


class PromptOrder:
    """An endless walk through a training set, a new permutation per epoch; its only state is `position`."""

    def __init__(self, count: int, seed: int):
        self.count, self.seed = count, seed
        self._epoch: tuple[int, np.ndarray] | None = None

    def at(self, position: int) -> int:
        epoch, place = divmod(position, self.count)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, shuffled(self.count, self.seed, STREAM_ORDER, epoch))
        return int(self._epoch[1][place])

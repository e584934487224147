"""Common beginnings of responses, computed once: in sampling (`Branches`), in training (`Tree`).

Dimensions: P prompts, N rows (each a response to one of the prompts), M nodes of a tree or responses, L prompt tokens,
S tokens of a row, K key-value heads, E head dimension.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass
class Prefix:
    """The prompts' part of attention: next positions, keys and values per layer, and a mask of padding."""

    next_P: Tensor  # the position of the token after the prompt; without pictures, the prompt's length
    mask_PL: Tensor | None  # minus infinity on padding; None if all prompts have one length
    keys: list[Tensor]  # (P, K, L, E) per layer
    values: list[Tensor]


@dataclass
class Tree:
    """The distinct beginnings of some rows of tokens: M nodes, each a token after the path that leads to it.

    A model's output at a token depends only on its path, so each node is computed once for all rows through it. Only
    attention is over whole rows.
    """

    tokens_M: Tensor
    positions_M: Tensor
    path_NS: Tensor  # the node of each token of each row; any node on padding
    owner_M: Tensor  # one position n x S + s of the node

    @classmethod
    def grow(cls, rows_NS: Tensor, lengths_N: Tensor) -> tuple[Self, Tensor]:
        """The tree of rows padded on the right, and the index of each row in `path_NS`."""
        length = rows_NS.shape[1]
        padding_NS = torch.arange(length, device=rows_NS.device) >= lengths_N[:, None]
        ordered_NS, which_N = torch.unique(rows_NS.masked_fill(padding_NS, -1), dim=0, return_inverse=True)
        new_NS = ordered_NS >= 0
        new_NS[1:] &= (ordered_NS[1:] == ordered_NS[:-1]).cumprod(1) == 0  # rows that begin alike are neighbours
        owner_M = torch.nonzero(new_NS.flatten()).squeeze(-1)
        number_NS = (new_NS.flatten().cumsum(0) - 1).view_as(new_NS)
        path_NS = number_NS.where(new_NS, 0).cummax(0).values
        return cls(ordered_NS.flatten()[owner_M], owner_M % length, path_NS, owner_M), which_N


class Branches:
    """Keys and values of responses that grow token by token and share their common beginnings.

    Responses to one prompt that are still equal are one row; `grow` copies a row where they part. Rows 0 to
    `count` are in use, so that a step computes on views; a row with one continuation never moves.
    """

    def __init__(self, prefix: Prefix, rows: int, tokens: int):
        prompts, heads, length, dim = prefix.keys[0].shape
        self.prefix, self.prompt_tokens, self.step, self.count = prefix, length, -1, prompts
        self.prompt_N = torch.arange(rows, device=prefix.next_P.device).clamp_(max=prompts - 1)
        shape = (max(rows, prompts), len(prefix.keys), 2, heads, length + tokens, dim)
        self.store = prefix.keys[0].new_empty(shape)  # keys and values of all layers
        for layer, pair in enumerate(zip(prefix.keys, prefix.values, strict=True)):
            self.store[:prompts, layer, :, :, :length] = torch.stack(pair, dim=1)

    def grow(self, rows_M: Tensor, tokens_M: Tensor) -> tuple[Tensor, Tensor]:
        """The new row of each response, and the token of each row, after response m continues with `tokens_M[m]`.

        Response m was in row `rows_M[m]`; rows that no response names are dropped.
        """
        span = int(tokens_M.max()) + 1
        distinct_N, which_M = torch.unique(rows_M * span + tokens_M, return_inverse=True)
        parents_N, tokens_N = distinct_N // span, distinct_N % span
        count = len(distinct_N)
        heirs_N = torch.ones(count, dtype=torch.bool, device=parents_N.device)
        heirs_N[1:] = parents_N[1:] != parents_N[:-1]
        heirs_N &= parents_N < count  # the first child of a row takes its place
        free_N = torch.ones_like(heirs_N)
        free_N[parents_N[heirs_N]] = False
        places_N = parents_N.clone()
        if not bool(heirs_N.all()):
            old, new = parents_N[~heirs_N], torch.nonzero(free_N).squeeze(-1)
            places_N[~heirs_N] = new
            used = self.prompt_tokens + self.step + 1
            self.store[new, ..., :used, :] = self.store[old, ..., :used, :]
            self.prompt_N[new] = self.prompt_N[old]
        self.count, self.step = count, self.step + 1
        return places_N[which_M], torch.empty_like(tokens_N).index_copy_(0, places_N, tokens_N)


def joined(prompts_NL: Tensor, start_N1: Tensor, responses_NT: Tensor, lengths_N: Tensor) -> Tensor:
    """Rows (N, S) of a prompt of `start_N1` tokens and its response, padded on the right with any token."""
    place_S = torch.arange(int((start_N1[:, 0] + lengths_N).max()), device=prompts_NL.device)
    within_NS = (place_S - start_N1).clamp_(0, responses_NT.shape[1] - 1)
    before_NS = prompts_NL[:, place_S.clamp(max=prompts_NL.shape[1] - 1)]
    return before_NS.where(place_S < start_N1, responses_NT.gather(1, within_NS))

"""Converts rows of a verl batch to prompts and rollouts for this package's estimators, and back.

A verl batch has its rows in any order, with the rollouts of a prompt apart, and includes padding rows without response
tokens. N rows, P prompts, G rollouts per prompt, T response tokens.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from rlvr.estimators import Estimator, inputs_of_step


class Ragged(RuntimeError):
    """Prompts with different numbers of rollouts."""


def whole_groups(keys: Sequence[str], response_lengths: Sequence[int], rollouts: int) -> tuple[int, list[str]]:
    """The number of groups without a failed rollout, and their keys in the given order.

    verl leaves out a rollout that raised an exception, and keeps the rest of its group. A response without a token
    counts as failed too. A row's key is `{prompt}_{rollout}_{output}`.
    """
    responses = [key for key, length in zip(keys, response_lengths, strict=True) if length > 0]
    counts = Counter(map(_prompt, responses))
    kept = [key for key in responses if counts[_prompt(key)] == rollouts]
    return len(kept) // rollouts, kept


def _prompt(key: str) -> str:
    return key.rsplit("_", 2)[0]


@dataclass(frozen=True)
class Grid:
    """The row index (P, G) of rollout g of prompt p in a batch; padding rows have no place in it."""

    rows_PG: Tensor
    rows: int

    @classmethod
    def of(cls, uids: Sequence[Any], real_N: Tensor, order: Sequence[int] | None = None) -> Self:
        """The grid from each row's prompt, and whether the row is a response. Raises Ragged.

        Prompts are in the order of their first rows; a prompt's rollouts are by `order`, else by row.
        """
        rows_of_prompt: dict[str, list[int]] = {}
        for row, (uid, real) in enumerate(zip(uids, real_N.tolist(), strict=True)):
            if real:
                rows_of_prompt.setdefault(str(uid), []).append(row)
        sizes = sorted({len(rows) for rows in rows_of_prompt.values()})
        if len(sizes) != 1:
            raise Ragged(f"prompts have {sizes} rollouts, less those that verl masked whole (rollout correction)")
        if order is not None:
            for rows in rows_of_prompt.values():
                rows.sort(key=order.__getitem__)
        return cls(torch.tensor(list(rows_of_prompt.values())), len(real_N))

    def take(self, values: Tensor) -> Tensor:
        """(N, ...) as (P, G, ...)."""
        return values[self.rows_PG]

    def spread(self, values_PG: Tensor) -> Tensor:
        """(P, G) as (N), zero on padding."""
        values_N = torch.zeros(self.rows, dtype=values_PG.dtype)
        values_N[self.rows_PG.flatten()] = values_PG.flatten()
        return values_N


@dataclass(frozen=True)
class EstimatorInputs:
    """A batch as estimators see it."""

    grid: Grid
    rewards_PG: Tensor
    lengths_PG: Tensor
    values: dict[str, Any]

    @classmethod
    def of(cls, grid: Grid, mask_NT: Tensor, scores_NT: Tensor, old_NT: Tensor, reference_NT: Tensor) -> Self:
        """The inputs from token scores, which sum to a reward. Without a reference, pass the old log-probabilities."""
        mask_NT = mask_NT.to(old_NT.dtype)
        old_PGT, reference_PGT = grid.take(old_NT * mask_NT).float(), grid.take(reference_NT * mask_NT).float()
        rewards_PG, lengths_PG = grid.take(scores_NT.sum(-1)).float(), grid.take(mask_NT.sum(-1)).long()
        return cls(grid, rewards_PG, lengths_PG, inputs_of_step(old_PGT, reference_PGT, lengths_PG))

    def prompts(self, chosen_P: Tensor, logp_PG: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """Rewards and other inputs of some prompts, at their current log pi."""
        now = {name: value[chosen_P] if isinstance(value, Tensor) else value for name, value in self.values.items()}
        return self.rewards_PG[chosen_P], {**now, "logp_PG": logp_PG}


def on_tokens(weights_N: Tensor, mask_NT: Tensor) -> Tensor:
    """A response's weight on each of its tokens (N, T), for verl's losses."""
    return weights_N[:, None] * mask_NT.to(weights_N.dtype)


def by_rewards_alone(estimator: Estimator) -> bool:
    """Whether rewards, all that verl's registry passes, suffice for this estimator."""
    return not (estimator.needs or estimator.kind.state)


def registered(estimator: Estimator):
    """A function for verl's registry (`register_adv_est`) from an estimator that needs only rewards."""

    def advantages(
        token_level_rewards: Tensor, response_mask: Tensor, index: Sequence[Any] | None = None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        if index is None:
            raise ValueError("verl gave no uids (index): advantages within a group need them")
        grid = Grid.of(index, response_mask.bool().any(-1))
        rewards_PG = grid.take(token_level_rewards.sum(-1)).float()
        on_NT = on_tokens(grid.spread(estimator.advantages(rewards_PG, {}, {})), response_mask)
        return on_NT, on_NT

    return advantages

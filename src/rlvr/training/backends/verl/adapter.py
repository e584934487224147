"""Rows of a verl batch as prompts and rollouts, and back: between its tensors and this package's estimators.

verl's batch is a list of rows in any order, the rollouts of a prompt apart from each other, with rows of padding
among them, which have no response token. N rows, P prompts, G rollouts a prompt, T response tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from rlvr.estimators import Estimator, inputs_of_step


class Ragged(RuntimeError):
    """Prompts with different numbers of rollouts, as after a rollout that failed."""


@dataclass(frozen=True)
class Grid:
    """Where rollout g of prompt p stands among a batch's rows (P, G); rows of padding stand nowhere."""

    rows_PG: Tensor
    rows: int

    @classmethod
    def of(cls, uids: Sequence[Any], real_N: Tensor, order: Sequence[int] | None = None) -> Grid:
        """From each row's prompt, and whether it is a response. Raises Ragged.

        Prompts stand in the order of their first rows; a prompt's rollouts by `order`, else in that of their rows.
        """
        found: dict[str, list[int]] = {}
        for row, (uid, real) in enumerate(zip(uids, real_N.tolist(), strict=True)):
            if real:
                found.setdefault(str(uid), []).append(row)
        sizes = sorted({len(rows) for rows in found.values()})
        if len(sizes) != 1:
            raise Ragged(f"prompts have {sizes} rollouts: a rollout failed, and the log of its worker says why")
        if order is not None:
            for rows in found.values():
                rows.sort(key=order.__getitem__)
        return cls(torch.tensor(list(found.values())), len(real_N))

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
    given: dict[str, Any]

    @classmethod
    def of(cls, grid: Grid, mask_NT: Tensor, scores_NT: Tensor, old_NT: Tensor, reference_NT: Tensor) -> Self:
        """Scores a token are summed to a reward; without a reference, give the old log-probabilities for it."""
        mask_NT = mask_NT.to(old_NT.dtype)
        old_PGT, reference_PGT = grid.take(old_NT * mask_NT).float(), grid.take(reference_NT * mask_NT).float()
        rewards_PG, lengths_PG = grid.take(scores_NT.sum(-1)).float(), grid.take(mask_NT.sum(-1)).long()
        return cls(grid, rewards_PG, lengths_PG, inputs_of_step(old_PGT, reference_PGT, lengths_PG))

    def prompts(self, chosen_P: Tensor, logp_PG: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """Rewards and what else an estimator needs of some prompts, at their present log pi."""
        now = {name: value[chosen_P] if isinstance(value, Tensor) else value for name, value in self.given.items()}
        return self.rewards_PG[chosen_P], {**now, "logp_PG": logp_PG}


def on_tokens(weights_N: Tensor, mask_NT: Tensor) -> Tensor:
    """A response's weight on each of its tokens (N, T), as verl's losses want it."""
    return weights_N[:, None] * mask_NT.to(weights_N.dtype)


def by_rewards_alone(estimator: Estimator) -> bool:
    """Whether verl's registry of advantage estimators passes all that this one needs."""
    return not (estimator.needs or estimator.signature.state)


def registered(estimator: Estimator):
    """An estimator that needs rewards alone, as a function of verl's registry (`register_adv_est`)."""

    def advantages(
        token_level_rewards: Tensor, response_mask: Tensor, index: Sequence[Any] | None = None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        if index is None:
            raise ValueError("verl gave no uids (index): advantages within a group need them")
        grid = Grid.of(index, response_mask.bool().any(-1))
        rewards_PG = grid.take(token_level_rewards.sum(-1)).float()
        given: Mapping[str, Any] = {}
        on_NT = on_tokens(grid.spread(estimator.advantages(rewards_PG, given, {})), response_mask)
        return on_NT, on_NT

    return advantages

"""The weights that a method gives kept rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rlvr.estimators import INPUTS, Estimator
from rlvr.records import KeptGroup
from rlvr.show.lookup import NotFound

if TYPE_CHECKING:
    from torch import Tensor


def inputs_of(groups: Sequence[KeptGroup], needs: set[str]) -> dict[str, Any]:
    """What an estimator needs beside the rewards, of groups of one step. Raises NotFound without a reference."""
    import torch

    if any(group.log_ratio is None for group in groups) and any(INPUTS[need].needs_reference for need in needs):
        raise NotFound("needs log pi_ref, which these rollouts do not have")

    def tensor(rows: Sequence[Sequence[float]]) -> Tensor:
        return torch.tensor([*rows], dtype=torch.float64)

    logp_PG, shift_PG = tensor([g.logp for g in groups]), tensor([g.log_ratio or [0.0] * len(g.logp) for g in groups])
    lengths_PG = tensor([group.lengths for group in groups])
    fields: dict[str, Any] = {"logp": logp_PG, "logp_old": logp_PG, "logp_ref": logp_PG - shift_PG}
    fields |= {"lengths": lengths_PG, "entropy": groups[0].entropy}
    return {need: INPUTS[need].of_fields(*(fields[field] for field in INPUTS[need].fields)) for need in needs}


def under_its_state(estimator: Estimator, group: KeptGroup) -> tuple[float, ...]:
    """The weights by a run's own estimator, in the state that it had."""
    return _row(estimator.advantages(_rewards([group]), inputs_of([group], estimator.needs), group.state)[0])


def put_to(estimator: Estimator, groups: Sequence[KeptGroup]) -> list[tuple[float, ...]]:
    """The weights that a method gives each group, step after step; a state of its own follows only from these groups.

    Raises NotFound for an input that the rollouts do not have, and ValueError for numbers that are too large.
    """
    weights: dict[int, tuple[float, ...]] = {}
    state: dict[str, float] = {}
    order = sorted(range(len(groups)), key=lambda i: groups[i].step)
    for _, places in groupby(order, key=lambda i: (groups[i].step, len(groups[i].rewards))):
        rows = list(places)
        of_step = [groups[i] for i in rows]
        weights_PG, state = estimator.step(_rewards(of_step), inputs_of(of_step, estimator.needs), state)
        weights |= {i: _row(row) for i, row in zip(rows, weights_PG, strict=True)}
    return [weights[i] for i in range(len(groups))]


def _rewards(groups: Sequence[KeptGroup]) -> Tensor:
    import torch

    return torch.tensor([group.rewards for group in groups], dtype=torch.float64)


def _row(weights_G: Tensor) -> tuple[float, ...]:
    return tuple(weights_G.tolist())

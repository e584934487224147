"""Groups of binary rewards, and the weights and masses that estimators give them."""

import itertools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rlvr.estimators import Estimator, kind
from rlvr.theory._tensors import float64


def outcomes(rollouts: int) -> Tensor:
    """All 2^G binary reward groups."""
    return float64(list(itertools.product([0.0, 1.0], repeat=rollouts)))


def by_successes(rollouts: int) -> Tensor:
    """One group for each number of successes, 0 to G."""
    return (torch.arange(rollouts) < torch.arange(rollouts + 1)[:, None]).double()


def mixed_groups(rollouts: int) -> tuple[Tensor, Tensor]:
    """One group for each number of successes, 1 to G - 1, and their solve rates."""
    rewards_PG = by_successes(rollouts)[1:-1]
    return rewards_PG, rewards_PG.mean(1)


def weigh(
    name: str,
    rewards_PG: Tensor,
    inputs: Mapping[str, Any] | None = None,
    state: Mapping[str, float] | None = None,
    **settings: Any,
) -> Tensor:
    """The weights (P, G) of an estimator at the settings of its closed form, epsilon = 0, unless `settings` differ."""
    estimator = Estimator(name, {**kind(name).exact_settings, **settings})
    return estimator.advantages(rewards_PG, inputs or {}, state or {})


def class_masses(weights_PG: Tensor, rewards_PG: Tensor) -> tuple[Tensor, Tensor]:
    """(m_S, m_F) of each group."""
    return (weights_PG * rewards_PG).mean(1), 0 - (weights_PG * (1 - rewards_PG)).mean(1)


def masses_of(name: str, rollouts: int = 16, state: Mapping[str, float] | None = None, **settings: Any):
    """(p, m_S, m_F) of an estimator, for 0 to G successes."""
    rewards_PG = by_successes(rollouts)
    return rewards_PG.mean(1), *class_masses(weigh(name, rewards_PG, state=state, **settings), rewards_PG)

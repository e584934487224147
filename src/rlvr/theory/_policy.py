"""A small softmax policy over a few answers, on which everything can be enumerated."""

import itertools

import torch
from torch import Tensor

LOGITS = torch.tensor([0.4, -0.3, 0.9, 0.1, -0.8], dtype=torch.float64)
RIGHT = torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float64)


def scores(pi: Tensor) -> Tensor:
    """grad log pi(y) by the logits, a row an answer."""
    return torch.eye(len(pi), dtype=pi.dtype) - pi


def gap(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


def outcomes(rollouts: int) -> Tensor:
    """All 2^G binary reward groups."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=rollouts)), dtype=torch.float64)


def by_successes(rollouts: int) -> Tensor:
    """One group for each number of successes, 0 to G."""
    return (torch.arange(rollouts) < torch.arange(rollouts + 1)[:, None]).double()


def class_masses(weights_PG: Tensor, rewards_PG: Tensor) -> tuple[Tensor, Tensor]:
    return (weights_PG * rewards_PG).mean(1), 0 - (weights_PG * (1 - rewards_PG)).mean(1)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)

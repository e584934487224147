"""Tensors in float64: literal, random, compared."""

from typing import Any

import torch
from torch import Tensor


def float64(numbers: Any) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def gap(first: Tensor, second: Tensor) -> float:
    """The largest absolute difference."""
    return float((first - second).abs().max())


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)

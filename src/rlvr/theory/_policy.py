"""A softmax policy over five answers, small enough to enumerate."""

import itertools

import torch
from torch import Tensor

from rlvr.theory._tensors import float64


def scores(pi: Tensor) -> Tensor:
    """Gradients of log pi(y) with respect to the logits, one row per answer y."""
    return torch.eye(len(pi), dtype=pi.dtype) - pi


def answers(rollouts: int) -> Tensor:
    """Every group of so many answers, as their indices."""
    return torch.tensor(list(itertools.product(range(len(PI)), repeat=rollouts)))


LOGITS = float64([0.4, -0.3, 0.9, 0.1, -0.8])
RIGHT = float64([1.0, 1.0, 0.0, 0.0, 0.0])
PI = LOGITS.softmax(0)
P = float(PI @ RIGHT)
SCORE_S = (PI * RIGHT) @ scores(PI) / P  # mean score of correct answers (FADE, Eq. 2)
SCORE_F = (PI * (1 - RIGHT)) @ scores(PI) / (1 - P)

"""Splits of a generated task: every problem belongs to exactly one part, by a hash of its text; and levels in turn."""

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from rlvr.records import Problem

# The parts of most tasks with their shares; settings are chosen on `pilot`.
PARTS = {"train": 48, "sft": 26, "validation": 6, "easy": 8, "hard": 8, "pilot": 4}
LABEL = "m={}"  # of a level
PATIENCE = 5000  # draws in a row without a new problem, after which a level has no more
Option = TypeVar("Option")


def pick(options: Sequence[Option], generator: np.random.Generator) -> Option:
    """One of the options, each with the same probability."""
    return options[int(generator.integers(len(options)))]


def part_of(text: str, parts: dict[str, int]) -> str:
    """The one part that may hold this problem; `parts` has the share of each, in any unit."""
    point = int(hashlib.sha256(text.encode()).hexdigest(), 16) % sum(parts.values())
    for part, share in parts.items():
        point -= share
        if point < 0:
            return part
    raise AssertionError("the shares cover every point")


def drawn_in_turn(
    part: str,
    levels: list[int],
    count: int,
    *,
    draw: Callable[[int], str | None],
    fits: Callable[[str], bool],
    problem: Callable[[str, int], Problem],
    key: Callable[[str], str] = str,
) -> list[Problem]:
    """`count` different problems of a part, shared evenly between the levels, in turn, of texts that `draw` gives.

    A text `fits`, and its `key` decides its part. A level gives fewer after PATIENCE draws in a row in vain.
    """

    def of_level(level: int, share: int) -> list[Problem]:
        texts: dict[str, None] = {}
        in_vain = 0
        while len(texts) < share and in_vain < PATIENCE:
            text, in_vain = draw(level), in_vain + 1
            if text is not None and text not in texts and part_of(key(text), PARTS) == part and fits(text):
                texts[text], in_vain = None, 0
        return [problem(text, level) for text in texts]

    return in_turn(levels, count, of_level)


def in_turn(levels: list[int], count: int, draw: Callable[[int, int], list[Problem]]) -> list[Problem]:
    """`count` problems shared evenly between the levels, in turn; `draw` gives up to so many problems of a level."""
    shares = [count // len(levels) + (i < count % len(levels)) for i in range(len(levels))]
    by_level = [draw(level, share) for level, share in zip(levels, shares, strict=True)]
    return [problems[i] for i in range(max(shares)) for problems in by_level if i < len(problems)]

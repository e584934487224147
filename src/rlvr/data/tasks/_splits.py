"""Splits of a generated task: every problem belongs to exactly one part, by a hash of its text; and levels in turn."""

import hashlib
from collections.abc import Callable

from rlvr.records import Problem


def part_of(text: str, parts: dict[str, int]) -> str:
    """The one part that may hold this problem; `parts` has the share of each, in any unit."""
    point = int(hashlib.sha256(text.encode()).hexdigest(), 16) % sum(parts.values())
    for part, share in parts.items():
        point -= share
        if point < 0:
            return part
    raise AssertionError("the shares cover every point")


def drawn_in_turn(
    levels: list[int],
    count: int,
    draw: Callable[[int], str | None],
    fits: Callable[[str], bool],
    problem: Callable[[str, int], Problem],
    patience: int,
) -> list[Problem]:
    """`count` different problems shared evenly between the levels, in turn, of texts that `draw` gives and that fit.

    A level gives fewer after `patience` draws in a row in vain.
    """

    def of_level(level: int, share: int) -> list[Problem]:
        return [problem(text, level) for text in different(share, lambda: draw(level), fits, patience)]

    return in_turn(levels, count, of_level)


def different(count: int, draw: Callable[[], str | None], fits: Callable[[str], bool], patience: int) -> list[str]:
    """Up to `count` different texts that `draw` gives and that fit; fewer after `patience` draws in a row in vain."""
    texts: dict[str, None] = {}
    in_vain = 0
    while len(texts) < count and in_vain < patience:
        text, in_vain = draw(), in_vain + 1
        if text is not None and text not in texts and fits(text):
            texts[text], in_vain = None, 0
    return list(texts)


def in_turn(levels: list[int], count: int, draw: Callable[[int, int], list[Problem]]) -> list[Problem]:
    """`count` problems shared evenly between the levels, in turn; `draw` gives up to so many problems of a level."""
    shares = [count // len(levels) + (i < count % len(levels)) for i in range(len(levels))]
    by_level = [draw(level, share) for level, share in zip(levels, shares, strict=True)]
    return [problems[i] for i in range(max(shares)) for problems in by_level if i < len(problems)]

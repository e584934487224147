"""What tasks of reasoning-gym have in common: its generators, entries as golds, and words for tiny models.

The library makes a problem only from (seed, index). A gold is its whole entry. A prompt has the words of its question
that differ between problems, `\\\\` for a line break; `question` gives the question as the library words it.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count as from_0
from typing import Any

import numpy as np

from rlvr.config.registries import Generates
from rlvr.data.rows import DataError
from rlvr.data.similarity import normal
from rlvr.data.tasks._splits import LABEL, drawn_in_turn
from rlvr.records import Problem
from rlvr.verifiers import VerifierError, reasoning_gym

SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
BREAK, ANSWER, CLOSE = "\\\\", "\\boxed{", "}"
SEEDS = 2**40  # so that two seeds and their indices hardly ever meet

Entry = dict[str, Any]


def generates(
    dataset: str,
    *,
    settings: Callable[[int], dict[str, Any]],
    words: Callable[[Entry, int], str | None],
    chance: Callable[[str], float],
    solutions: Callable[[str], int],
    key: Callable[[str], str] = normal,
) -> Generates:
    """The `generate_problems` of a task: `settings(level)` of the library's data set, and the words of an entry, None
    where it is not of the level. Texts with one `key` are of one part, so those that are equal but for marks."""

    def generate_problems(
        part: str,
        levels: list[int],
        count: int,
        max_solutions: int | None,
        generator: np.random.Generator,
        max_chance: float | None = None,
        unseen: str | None = None,
    ) -> list[Problem]:
        seed, entries = int(generator.integers(SEEDS)), {}
        streams = {level: _entries(dataset, seed, settings(level)) for level in set(levels)}

        def draw(level: int) -> str:
            while (text := words(entry := next(streams[level]), level)) is None:
                pass
            entries[text] = entry
            return text

        def fits(text: str) -> bool:
            likely = max_chance is not None and chance(text) > max_chance
            return not likely and solutions(text) <= (max_solutions or np.inf)

        def problem(text: str, level: int) -> Problem:
            return Problem(f"{part}-{text}", text, json.dumps(entries[text]), LABEL.format(level))

        return drawn_in_turn(*(part, levels, count), draw=draw, fits=fits, problem=problem, key=key)

    return generate_problems


def _entries(dataset: str, seed: int, settings: dict[str, Any]) -> Iterator[Entry]:
    """The library's entries of a seed, by index. Raises DataError without the library."""
    try:
        reasoning_gym.check()
    except VerifierError as error:
        raise DataError(str(error)) from error
    import reasoning_gym as library

    made = library.create_dataset(dataset, seed=seed, size=2**31 - 1, **settings)
    yield from map(made.__getitem__, from_0())


def question(problem: Problem) -> str:
    """A problem as the library words it."""
    return json.loads(problem.gold)["question"].strip()


def in_words(text: str) -> str:
    """A text of several lines as words of a prompt."""
    return f" {BREAK} ".join(" ".join(line.split()) for line in text.strip().splitlines())


def response(working: list[str], answer: list[str]) -> str:
    return " ".join([*working, ANSWER, *answer, CLOSE])

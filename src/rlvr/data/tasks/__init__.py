"""Generated tasks. One module per task; its name is the `task` of a data set's entry.

A module has

    generate_problems(part, levels, count, max_solutions, generator, max_chance) -> problems
    demonstrate(problems, count, random_share, generator) -> demonstrations
    chance(prompt) -> the probability that a blind guess is correct
    false_working(prompt, response) -> whether a step that the response writes is false
    false_step(prompt, words) -> the same of the words of its working, read up to the first that is false
    PARTS, LEVELS, LABEL   the values of `part` and of `levels`, and the name of a level; read from source
    UNSEEN                 families that training and demonstrations lack, if it has some: `generate_problems` takes one
                           of them as `unseen`; read from source
    picture(problem)       the problem's picture as PNG, if its problems have one each
    VOCABULARY             the words of a tiny model: <pad>, <bos>, <eos>, <unk>, and all words of prompts and responses
    NATURAL                True in place of VOCABULARY if the words are natural language; read from source
    DECISIONS, ANSWER      the words at which a response decides, before the word that opens its answer; the other words
                           follow from them
"""

import importlib
from collections.abc import Iterator
from types import ModuleType

from rlvr.config.registries import members


def load(name: str) -> ModuleType:
    return importlib.import_module(f"rlvr.data.tasks.{name}")


def first_false(task: ModuleType, prompt: str, response: str) -> int | None:
    """The place, in words, of the first false one in a response's working, or behind the last if a step is missing.

    None where all steps are there and hold.
    """
    words, place = response.split(task.ANSWER)[0].split(), -1

    def read() -> Iterator[str]:
        nonlocal place
        for word in words:
            place += 1
            yield word
        place += 1

    return place if task.false_step(prompt, read()) else None


def of_set(task: str) -> ModuleType | None:
    """The task that made a data set, by the `task` of its entry; None for a published set, a mixture or a file."""
    return load(task) if task in members("data/tasks") else None

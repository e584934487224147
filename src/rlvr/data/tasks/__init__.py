"""Generated tasks. One module per task; its name is the `task` of a data set's entry.

A module has

    generate_problems(part, levels, count, max_solutions, generator, max_chance) -> problems
    demonstrate(problems, count, random_share, generator) -> demonstrations
    chance(prompt) -> the probability that a blind guess is correct
    false_working(prompt, response) -> whether a step that the response writes is false
    PARTS, LEVELS, LABEL   the values of `part` and of `levels`, and the name of a level; read from source
    UNSEEN                 families that training and demonstrations lack, if it has some: `generate_problems` takes one
                           of them as `unseen`; read from source
    VOCABULARY             the words of a tiny model: <pad>, <bos>, <eos>, <unk>, and all words of prompts and responses
    DECISIONS, ANSWER      the words at which a response decides, before the word that opens its answer; the other words
                           follow from them
"""

import importlib
from collections.abc import Iterable
from types import ModuleType

from rlvr.config.registries import members


def load(name: str) -> ModuleType:
    return importlib.import_module(f"rlvr.data.tasks.{name}")


def of_vocabulary(words: Iterable[str]) -> ModuleType | None:
    """The task with this vocabulary; None if no task has it."""
    return next((task for task in map(load, members("data/tasks")) if set(task.VOCABULARY) == set(words)), None)

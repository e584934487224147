"""Tasks that this project makes. One module a task; its name is the `task` of a data set's entry.

A module has

    generate_problems(part, levels, count, max_solutions, generator) -> problems
    demonstrate(problems, count, random_share, generator) -> demonstrations
    PARTS, LEVELS, LABEL   the values of `part` and of `levels`, and what a level is called; read from source
    VOCABULARY             the words of a tiny model: <pad>, <bos>, <eos> and <unk>, and all that a response may hold
    DECISIONS              the words where a response decides, up to its box; all else follows from them
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

from rlvr.config.registries import members


def load(name: str) -> ModuleType:
    return importlib.import_module(f"rlvr.data.tasks.{name}")


def of_vocabulary(words: Iterable[str]) -> ModuleType | None:
    """The task whose words these are, None where they are those of no task."""
    return next((task for task in map(load, members("data/tasks")) if set(task.VOCABULARY) == set(words)), None)

"""Generated tasks (`rlvr.config.registries.TaskKind`), by the `task` of a data set's entry."""

from collections.abc import Iterable, Iterator

from rlvr.config.registries import TASKS, TaskKind


def first_false(task: TaskKind, prompt: str, response: str) -> int | None:
    """The place, in words, of the first false one in a response's working, or behind the last if a step is missing.

    None where all steps are there and hold.
    """
    words, place = response.split(task.answer)[0].split(), -1

    def read() -> Iterator[str]:
        nonlocal place
        for word in words:
            place += 1
            yield word
        place += 1

    return place if task.false_step(prompt, read()) else None


def of_vocabulary(words: Iterable[str]) -> TaskKind | None:
    """The task with this vocabulary; None if no task has it."""
    words = set(words)
    return next((task for _, task in TASKS.all() if task.vocabulary and words == set(task.vocabulary)), None)

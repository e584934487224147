"""Generated tasks (`rlvr.config.registries.TaskKind`), by the `task` of a data set's entry."""

from collections.abc import Iterator

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


def of_set(task: str) -> TaskKind | None:
    """The task that made a data set, by the `task` of its entry; None for a published set, a mixture or a file."""
    return TASKS.load(task) if task in TASKS.names() else None

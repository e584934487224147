"""Problems with another problem's picture, or with none: what a policy answers without seeing the picture.

A set's entry asks for it by `pictures: other` or `pictures: none`. Questions, golds and ids stay.
"""

from dataclasses import replace

from rlvr.data.rows import DataError
from rlvr.records import MARK, Problem


def swapped(problems: list[Problem], pictures: str) -> list[Problem]:
    """The problems with their `own` pictures, with those of `other` problems, or with `none` and without marks.

    Another problem is the next of the same level, in a circle, whose pictures differ. Raises DataError if a level has
    none.
    """
    if pictures == "own":
        return problems
    if pictures == "none":
        return [replace(p, images=(), prompt=MARK.sub("", p.prompt).strip()) for p in problems]
    return [replace(p, images=_next(problems, number).images) for number, p in enumerate(problems)]


def _next(problems: list[Problem], number: int) -> Problem:
    own = problems[number]
    for other in (*problems[number + 1 :], *problems[:number]):
        if other.level == own.level and other.images != own.images:
            return other
    raise DataError(f"pictures: other: {own.id} is alone with its picture in the level {own.level}")

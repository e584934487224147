r"""Sudokus of 4 x 4 cells by reasoning-gym (`mini_sudoku`): each row, column and quarter has the numbers 1 to 4.

A prompt is the grid, with `_` for an empty cell; the answer is the whole grid, which is unique. The response fills one
cell after the other, each by row and column, `a2 3`, and at last boxes the grid: `\boxed{ 1 2 3 4 \\ 3 4 1 2 \\ ... }`.

Level m is the number of empty cells. A blind guesser fills them from the first on and draws each number among those
that its row does not have yet (`chance`). A demonstration takes next a cell for which its row, column and quarter leave
one number, if there is one; a share of the numbers is guessed blindly.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import factorial, prod

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _gym
from rlvr.data.tasks._splits import LABEL, PARTS, pick
from rlvr.records import Demonstration, Problem
from rlvr.verifiers import reasoning_gym

Cell = tuple[int, int]  # row and column
Grid = dict[Cell, int]  # 0 where a cell is empty

SIDE, EMPTY = 4, "_"
CELLS: tuple[Cell, ...] = tuple((row, column) for row in range(SIDE) for column in range(SIDE))
NUMBERS = tuple(range(1, SIDE + 1))
NAMES = {(row, column): f"{chr(97 + row)}{column + 1}" for row, column in CELLS}
SEEN = {  # the other cells of its row, column and quarter
    (r, c): [
        (i, j) for i, j in CELLS if (i, j) != (r, c) and (i == r or j == c or (i // 2, j // 2) == (r // 2, c // 2))
    ]
    for r, c in CELLS
}
DECISIONS = tuple(map(str, NUMBERS))
VOCABULARY = (*_gym.SPECIAL_TOKENS, EMPTY, *DECISIONS, _gym.BREAK, *NAMES.values(), _gym.ANSWER, _gym.CLOSE)


@lru_cache(maxsize=4096)  # a problem has many rollouts
def _parsed(prompt: str) -> tuple[int, ...]:
    lines = prompt.rpartition("puzzle:")[2].partition("Format")[0].replace(_gym.BREAK, " ").replace(EMPTY, "0")
    return tuple(map(int, lines.split()))


def parse(prompt: str) -> Grid:
    """The grid of a prompt, or of the library's question."""
    return dict(zip(CELLS, _parsed(prompt), strict=True))


def left(grid: Grid, cell: Cell) -> list[int]:
    """The numbers that a cell's row, column and quarter do not have."""
    return [number for number in NUMBERS if number not in {grid[other] for other in SEEN[cell]}]


def solved(grid: Grid) -> Grid:
    """The first solution, by backtracking from the cell with the fewest numbers left."""
    empty = [cell for cell, number in grid.items() if not number]
    if not empty:
        return grid
    cell = min(empty, key=lambda one: len(left(grid, one)))
    return next((found for number in left(grid, cell) if (found := solved({**grid, cell: number}))), {})


def chance(prompt: str) -> float:
    """The probability that a blind guess is the solution."""
    empty = Counter(row for (row, _), number in parse(prompt).items() if not number)
    return 1 / prod(map(factorial, empty.values()))


def _words(entry: _gym.Entry, level: int) -> str | None:
    if entry["metadata"]["num_empty"] != level:
        return None
    return _gym.in_words("\n".join(" ".join(str(n or EMPTY) for n in row) for row in entry["metadata"]["puzzle"]))


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn: the solution's numbers or, for `random_share` of them, a blind
    guess, which mostly makes the answer wrong."""
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    grid, working = parse(problem.prompt), []
    right = solved(grid)
    while empty := [cell for cell, number in grid.items() if not number]:
        cell = next((one for one in empty if len(left(grid, one)) == 1), empty[0])
        number = right[cell]
        if generator.random() < random_share:
            cell = empty[0]
            row = {grid[cell[0], column] for column in range(SIDE)}
            number = pick([number for number in NUMBERS if number not in row], generator)
        grid[cell] = number
        working += [NAMES[cell], str(grid[cell])]
    lines = "\n".join(" ".join(str(grid[row, column]) for column in range(SIDE)) for row in range(SIDE))
    return Demonstration(problem.id, problem.prompt, _gym.response(working, _gym.in_words(lines).split()))


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box fills a cell that is not empty, or leaves one, or is unreadable."""
    return false_step(prompt, iter(response.split(_gym.ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    empty = {NAMES[cell] for cell, number in parse(prompt).items() if not number}
    while empty:
        if (cell := next(words, "")) not in empty or next(words, "") not in DECISIONS:
            return True
        empty.remove(cell)
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=_gym.generates(
        "mini_sudoku",
        settings=lambda level: {"min_empty": level, "max_empty": level},
        words=_words,
        chance=chance,
        solutions=lambda _: 1,
    ),
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(6, 7, 8, 9, 10),  # m
    label=LABEL,
    verifier="reasoning_gym",
    answer=_gym.ANSWER,
    decisions=DECISIONS,
    vocabulary=VOCABULARY,
    library=reasoning_gym.MADE_BY,
    question=_gym.question,
)

r"""Shortest paths of reasoning-gym (`shortest_path`): from `*` to `#` in a grid of open cells `O` and blocked ones `X`.

A prompt is the grid, `O * X \\ O O O \\ X # O`; the answer is a row of moves, and any shortest one is right. The
response writes each cell, by column and row, and the move from there: `b1 down b2 down b3 \boxed{ down down }`.

Level m is the number of moves of a shortest path; grids without a path are left out. A blind guesser sees the grid and
draws each move among those into open cells, not back to where it comes from (`chance`). In a demonstration a share of
the moves is guessed blindly, and the response goes on from there.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _gym
from rlvr.data.tasks._splits import LABEL, PARTS, pick
from rlvr.records import Demonstration, Problem
from rlvr.verifiers import reasoning_gym

Cell = tuple[int, int]  # row and column

SIDE = 5
MOVES = {"right": (0, 1), "down": (1, 0), "left": (0, -1), "up": (-1, 0)}
START, GOAL, OPEN, BLOCKED = "*", "#", "O", "X"
NAMES = {(row, column): f"{chr(97 + column)}{row + 1}" for row, column in product(range(SIDE), repeat=2)}
DECISIONS = tuple(MOVES)
VOCABULARY = (
    *_gym.SPECIAL_TOKENS,
    START,
    GOAL,
    OPEN,
    BLOCKED,
    _gym.BREAK,
    *NAMES.values(),
    *MOVES,
    _gym.ANSWER,
    _gym.CLOSE,
)
LONGER = 4  # moves beyond the shortest, after which a demonstration guesses no more


class Grid:
    """The cells of a prompt, or of the library's question, with their least number of moves to the goal."""

    def __init__(self, prompt: str):
        lines = prompt.rpartition("grid:")[2].replace(_gym.BREAK, "\n").split("\n")
        rows = [line.split() for line in lines if line.strip()]
        cells = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row)}
        self.start = next(cell for cell, word in cells.items() if word == START)
        self.goal = next(cell for cell, word in cells.items() if word == GOAL)
        self.free = {cell for cell, word in cells.items() if word != BLOCKED}
        self.distance, front = {self.goal: 0}, [self.goal]
        for cell in front:
            for neighbour in self.moves(cell).values():
                if neighbour not in self.distance:
                    self.distance[neighbour] = self.distance[cell] + 1
                    front.append(neighbour)

    def moves(self, cell: Cell, last: Cell | None = None) -> dict[str, Cell]:
        """The cell that each move leads to; back to the last one only where there is no other."""
        reached = {move: (cell[0] + row, cell[1] + column) for move, (row, column) in MOVES.items()}
        reached = {move: to for move, to in reached.items() if to in self.free}
        return {move: to for move, to in reached.items() if to != last} or reached

    def nearer(self, cell: Cell) -> list[Cell]:
        return [to for to in self.moves(cell).values() if self.distance[to] < self.distance[cell]]

    def solutions(self, cell: Cell) -> int:
        """The number of shortest paths from a cell."""
        return 1 if cell == self.goal else sum(map(self.solutions, self.nearer(cell)))

    def chance(self, cell: Cell, last: Cell | None = None) -> float:
        if cell == self.goal:
            return 1.0
        return sum(self.chance(to, cell) for to in self.nearer(cell)) / len(self.moves(cell, last))


grid = lru_cache(maxsize=4096)(Grid)  # a problem has many rollouts


def chance(prompt: str) -> float:
    """The probability that a blind guess is a shortest path."""
    return grid(prompt).chance(grid(prompt).start)


def solutions(prompt: str) -> int:
    """The number of shortest paths."""
    return grid(prompt).solutions(grid(prompt).start)


def _words(entry: _gym.Entry, level: int) -> str | None:
    if len(entry["metadata"]["solution"]) != level:
        return None
    return _gym.in_words("\n".join(map(" ".join, entry["metadata"]["matrix"])))


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn: a shortest path, drawn move by move, or a blind guess for
    `random_share` of the moves; a guess that leads away makes the answer wrong. Every cell that is written is true."""
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    ours, last, moves = grid(problem.prompt), None, []
    cell, most = ours.start, ours.distance[ours.start] + LONGER
    working = [NAMES[cell]]
    while cell != ours.goal:
        options = ours.moves(cell, last)
        if len(moves) >= most or generator.random() >= random_share:
            options = {move: to for move, to in ours.moves(cell).items() if ours.distance[to] < ours.distance[cell]}
        moves.append(pick(list(options), generator))
        last, cell = cell, options[moves[-1]]
        working += [moves[-1], NAMES[cell]]
    return Demonstration(problem.id, problem.prompt, _gym.response(working, moves))


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box has a step that is false, missing or unreadable."""
    return false_step(prompt, iter(response.split(_gym.ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    ours = grid(prompt)
    cell = ours.start
    if next(words, None) != NAMES[cell]:
        return True
    while cell != ours.goal:
        moves = ours.moves(cell)
        move = next(words, "")
        if move not in moves or next(words, None) != NAMES[moves[move]]:
            return True
        cell = moves[move]
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=_gym.generates(
        "shortest_path",
        settings=lambda level: {
            "min_rows": SIDE,
            "max_rows": SIDE,
            "min_cols": SIDE,
            "max_cols": SIDE,
            "p_blocked": 0.4,
        },
        words=_words,
        chance=chance,
        solutions=solutions,
    ),
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=tuple(range(1, 13)),  # m
    label=LABEL,
    verifier="reasoning_gym",
    answer=_gym.ANSWER,
    decisions=DECISIONS,
    vocabulary=VOCABULARY,
    library=reasoning_gym.MADE_BY,
    question=_gym.question,
)

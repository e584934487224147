r"""List programs: write a Python function that maps lists of three digits as an example's trace shows.

A problem is an example: an input, and the list after each statement of an unknown function, `3 1 4 1: 4 2 5 2: 5 2 4`.
The answer is a function f, which is run on hidden inputs (`HIDDEN`) and must return there what the unknown one returns.
So the trace guides, but only the results count: other programs, such as two statements exchanged, may be right too.

The response works the trace out between <think> marks: for each statement the list to reach, the statement, and the
list that it makes. After the marks it writes the function:

    <think> 3 1 4 1: 4 2 5 x=[(a+1)%(10)for(a)in(x)]; 4 2 5 2: 5 2 4 x=x[::-1]; 5 2 4 </think>
    def f(x): x=[(a+1)%(10)for(a)in(x)]; x=x[::-1]; return x

Level m is the number of statements, each one of six. A blind guesser draws all of them uniformly (`chance`). In a
demonstration a share of the statements is guessed blindly.

One family is left out of demonstrations and training, for tests out of domain: problems with one statement that leaves
the example's list as it is, `3 1 3 1: 3 1 3`. In all others each statement of the example changes its list.
"""

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks._splits import LABEL, PARTS, drawn_in_turn, pick
from rlvr.records import Demonstration, Problem

List = tuple[int, ...]

LENGTH = 3
BASE = 10  # digits
STATEMENTS = {
    "x=x[::-1];": lambda x: x[::-1],
    "x=x[1:]+x[:1];": lambda x: x[1:] + x[:1],
    "x=x[1::-1]+x[2:];": lambda x: x[1::-1] + x[2:],
    "x=[(a+1)%(10)for(a)in(x)];": lambda x: tuple((a + 1) % BASE for a in x),
    "x=[(x[0]+1)%(10)]+x[1:];": lambda x: ((x[0] + 1) % BASE, *x[1:]),
    "x=[(x[0]+x[1])%(10)]+x[1:];": lambda x: ((x[0] + x[1]) % BASE, *x[1:]),
}
DECISIONS = tuple(STATEMENTS)
THINK, ANSWER = "<think>", "</think>"
OPENING, CLOSING = ("def", "f(x):"), ("return", "x")
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
HIDDEN: tuple[List, ...] = ((7, 2, 5), (0, 9, 4), (3, 3, 8), (6, 1, 0), (2, 8, 9))  # equal for all problems

LEVELS = (1, 2, 3, 4, 5, 6, 7)  # m
MARKS = tuple(f"{i}:" for i in LEVELS)  # of the lists after the input
VOCABULARY = (*SPECIAL_TOKENS, *map(str, range(BASE)), *MARKS, THINK, ANSWER, *OPENING, *STATEMENTS, *CLOSING)
UNSEEN = ("still",)  # families that no problem of training and demonstrations has: a statement changes nothing


def parse(prompt: str) -> list[List]:
    """The lists of a problem: the example's input, then the list after each statement."""
    digits = [int(word) for word in prompt.split() if word not in MARKS]
    return [tuple(digits[i : i + LENGTH]) for i in range(0, len(digits), LENGTH)]


def reaching(x: List, target: List) -> list[str]:
    """The statements that make the target of x."""
    return [word for word, statement in STATEMENTS.items() if statement(x) == target]


def results(prompt: str) -> tuple[List, ...]:
    """What the unknown function returns for the hidden inputs."""
    values = HIDDEN
    for x, target in pairwise(parse(prompt)):
        values = tuple(map(STATEMENTS[reaching(x, target)[0]], values))
    return values


def _number(x: List) -> int:
    return int("".join(map(str, x)))


@cache
def _tables() -> np.ndarray:
    """What each statement makes of each list, as numbers of lists: (statements, BASE^LENGTH)."""
    lists = list(product(range(BASE), repeat=LENGTH))
    return np.array([[_number(statement(x)) for x in lists] for statement in STATEMENTS.values()])


@cache
def _ways(statements: int) -> tuple[np.ndarray, np.ndarray]:
    """All results on the hidden inputs that so many statements can have, sorted, with the number of sequences each.

    A result is one integer: the numbers of its lists are its digits in base BASE^LENGTH.
    """
    size = BASE**LENGTH
    places = size ** np.arange(len(HIDDEN))
    keys, counts = np.array([sum(_number(x) * place for x, place in zip(HIDDEN, places, strict=True))]), np.ones(1)
    for _ in range(statements):
        lists = keys[:, None] // places % size
        made = np.concatenate([table[lists] @ places for table in _tables()])
        keys, rows = np.unique(made, return_inverse=True)
        counts = np.bincount(rows, weights=np.tile(counts, len(STATEMENTS)))
    return keys, counts


def solutions(prompt: str) -> int:
    """The number of sequences of m statements that are correct."""
    keys, counts = _ways(len(parse(prompt)) - 1)
    key = sum(_number(x) * (BASE**LENGTH) ** i for i, x in enumerate(results(prompt)))
    place = int(np.searchsorted(keys, key))
    return int(counts[place]) if place < len(keys) and keys[place] == key else 0


def chance(prompt: str) -> float:
    """The probability that a blind guess, m statements drawn uniformly, is correct."""
    return solutions(prompt) / len(STATEMENTS) ** (len(parse(prompt)) - 1)


def gold(prompt: str) -> str:
    """The tests, as the verifier `code` reads them: one call for each hidden input, all in one process."""
    tests = [{"input": [list(x)], "output": list(y)} for x, y in zip(HIDDEN, results(prompt), strict=True)]
    limits = {"seconds": 1.0, "memory_mb": 64}
    return json.dumps({"kind": "call", "entry": "f", "tests": tests, "together": True, "form": "after_think", **limits})


def generate_problems(
    part: str,
    levels: list[int],
    count: int,
    max_solutions: int | None,
    generator: np.random.Generator,
    max_chance: float | None = None,
    unseen: str | None = None,
) -> list[Problem]:
    """Up to `count` different problems of one part, shared evenly between the levels (numbers of statements), in turn.

    All statements that make a list of the one before agree on the hidden inputs, so the example is enough to know the
    function. `max_solutions` keeps only problems with at most that many correct sequences, `max_chance` only those that
    a blind guess hits with at most this probability. `unseen` is one of UNSEEN.
    """

    def fits(text: str) -> bool:
        likely = max_chance is not None and chance(text) > max_chance
        return not likely and solutions(text) <= (max_solutions or np.inf)

    return drawn_in_turn(
        *(part, levels, count),
        draw=lambda level: _draw(level, generator, unseen),
        fits=fits,
        problem=lambda text, level: Problem(f"{part}-{text}", text, gold(text), LABEL.format(level)),
    )


def _draw(level: int, generator: np.random.Generator, unseen: str | None) -> str | None:
    """A random problem; None if the example leaves a statement open, or the wrong number of them changes nothing."""
    lists: list[List] = [tuple(generator.integers(BASE, size=LENGTH).tolist())]
    values, still = HIDDEN, 0 if unseen is None else 1
    for _ in range(level):
        target = STATEMENTS[pick(DECISIONS, generator)](lists[-1])
        made = {tuple(map(STATEMENTS[word], values)) for word in reaching(lists[-1], target)}
        still -= target == lists[-1]
        if len(made) > 1 or still < 0:
            return None
        lists.append(target)
        (values,) = made
    if still:
        return None
    words = [str(digit) for digit in lists[0]]
    for mark, x in zip(MARKS, lists[1:], strict=False):
        words += [mark, *map(str, x)]
    return " ".join(words)


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn.

    A statement is one that makes the next list or, for `random_share` of the statements, a blind guess; a guess that
    misses mostly makes the answer wrong, and the response goes on from where it is, by a guess where the next list is
    out of reach. Every step that is written is true.
    """
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    x, *targets = parse(problem.prompt)
    words, program = [THINK, *map(str, x)], []
    for mark, target in zip(MARKS, targets, strict=False):
        candidates = reaching(x, target)
        if not candidates or generator.random() < random_share:
            candidates = list(STATEMENTS)
        program.append(pick(candidates, generator))
        x = STATEMENTS[program[-1]](x)
        words += [mark, *map(str, target), program[-1], *map(str, x)]
    words += [ANSWER, *OPENING, *program, *CLOSING]
    return Demonstration(problem.id, problem.prompt, " ".join(words))


def false_working(prompt: str, response: str) -> bool:
    """Whether the working between the marks has a step that is false, missing or unreadable."""
    return false_step(prompt, iter(response.split(ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    x, *targets = parse(prompt)
    if any(next(words, None) != word for word in (THINK, *map(str, x))):
        return True
    for mark, target in zip(MARKS, targets, strict=False):
        if any(next(words, None) != word for word in (mark, *map(str, target))):
            return True
        statement = STATEMENTS.get(next(words, ""))
        if statement is None:
            return True
        x = statement(x)
        if any(next(words, None) != str(number) for number in x):
            return True
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=generate_problems,
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=LEVELS,
    label=LABEL,
    verifier="code",
    answer=ANSWER,
    decisions=DECISIONS,
    vocabulary=VOCABULARY,
    unseen=UNSEEN,
)

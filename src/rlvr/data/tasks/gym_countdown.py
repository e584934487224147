r"""Countdowns of reasoning-gym (`countdown`): make a target of all given numbers, each once.

A prompt is the numbers and the target, `7 3 3 = 24`; any expression of the numbers with the target's value is right.
The response computes from left to right and boxes the expression: `7 * 3 = 21 + 3 = 24 \boxed{ 7 * 3 + 3 }`, with
brackets where the order of operations needs them, `\boxed{ ( 7 + 1 ) * 3 }`.

Level m is the count of numbers, each of 1 to 9; the library's problems can be solved from left to right, with values in
0..99 here. A blind guesser draws each step, an operator and a number, among those that keep the value a whole number in
this range (`chance`). In a demonstration a share of the steps are such guesses.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _gym
from rlvr.data.tasks._splits import LABEL, PARTS, pick
from rlvr.records import Demonstration, Problem
from rlvr.verifiers import reasoning_gym

LARGEST = 99  # every value is in 0..LARGEST
OPERATIONS = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x // y}
DECISIONS = tuple(OPERATIONS)
BRACKETS = ("(", ")")
VOCABULARY = (
    *_gym.SPECIAL_TOKENS, *map(str, range(LARGEST + 1)), *DECISIONS, *BRACKETS, "=", _gym.ANSWER, _gym.CLOSE
)  # fmt: skip
_NUMBERS = re.compile(r"numbers:? (\d[\d, ]*\d)")
_TARGET = re.compile(r"(?:equals|make|Calculate) (\d+)")

Step = tuple[str, int]  # an operator and a number


@lru_cache(maxsize=4096)  # a problem has many rollouts
def parse(prompt: str) -> tuple[tuple[int, ...], int]:
    """Numbers and target of a prompt, or of the library's question."""
    if (numbers := _NUMBERS.search(prompt)) and (target := _TARGET.search(prompt)):
        return tuple(map(int, numbers[1].split(","))), int(target[1])
    given, _, target = prompt.partition("=")
    return tuple(map(int, given.split())), int(target)


def steps(value: int, numbers: tuple[int, ...]) -> dict[Step, int]:
    """The steps from a value that use one of the numbers and stay in range, with the values that they lead to."""
    found = {}
    for number in dict.fromkeys(numbers):
        for operator, operation in OPERATIONS.items():
            if (operator != "/" or (number and value % number == 0)) and 0 <= operation(value, number) <= LARGEST:
                found[operator, number] = operation(value, number)
    return found


def without(numbers: tuple[int, ...], number: int) -> tuple[int, ...]:
    place = numbers.index(number)
    return numbers[:place] + numbers[place + 1 :]


@lru_cache(maxsize=1 << 16)
def solutions_from(value: int, numbers: tuple[int, ...], target: int) -> int:
    """The number of ways to the target."""
    if not numbers:
        return int(value == target)
    return sum(
        solutions_from(reached, without(numbers, number), target)
        for (_, number), reached in steps(value, numbers).items()
    )


@lru_cache(maxsize=1 << 16)
def chance_from(value: int, numbers: tuple[int, ...], target: int) -> float:
    if not numbers:
        return float(value == target)
    options = steps(value, numbers)  # never empty: a sum or a difference is in range
    found = (chance_from(reached, without(numbers, number), target) for (_, number), reached in options.items())
    return sum(found) / len(options)


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct."""
    numbers, target = parse(prompt)
    numbers = tuple(sorted(numbers))
    starts = dict.fromkeys(numbers)
    return sum(chance_from(first, without(numbers, first), target) for first in starts) / len(starts)


def _key(text: str) -> str:
    """The problem in any order of its numbers."""
    numbers, target = parse(text)
    return f"{sorted(numbers)} = {target}"


def solutions(prompt: str) -> int:
    """The number of ways from left to right."""
    numbers, target = parse(prompt)
    numbers = tuple(sorted(numbers))
    return sum(solutions_from(first, without(numbers, first), target) for first in dict.fromkeys(numbers))


def _words(entry: _gym.Entry, level: int) -> str | None:
    """None for a target that no way in range reaches."""
    text = f"{' '.join(map(str, entry['metadata']['numbers']))} = {entry['metadata']['target']}"
    return text if solutions(text) else None


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn: each step is drawn among those from which the target can be reached
    or, for `random_share` of the steps, a blind guess. Every step that is written is true."""
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    numbers, target = parse(problem.prompt)
    numbers = tuple(sorted(numbers))

    def chosen(options: dict[Step, int]) -> Step:
        """A step from which the target can be reached, unless it is guessed or there is none."""
        good = [step for step, to in options.items() if solutions_from(to, without(numbers, step[1]), target)]
        return pick(list(options) if not good or generator.random() < random_share else good, generator)

    _, value = chosen({("", number): number for number in numbers})
    working, numbers, answer, sums = [str(value)], without(numbers, value), [str(value)], False
    while numbers:
        options = steps(value, numbers)
        operator, number = chosen(options)
        value, numbers = options[operator, number], without(numbers, number)
        working += [operator, str(number), "=", str(value)]
        if operator in "*/" and sums:
            answer = ["(", *answer, ")"]
        answer, sums = [*answer, operator, str(number)], operator in "+-"
    return Demonstration(problem.id, problem.prompt, _gym.response(working, answer))


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box has a step that is false, missing or unreadable."""
    return false_step(prompt, iter(response.split(_gym.ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    numbers, _ = parse(prompt)
    first = next(words, "")
    if not first.isdecimal() or int(first) not in numbers:
        return True
    value, numbers = int(first), without(numbers, int(first))
    while numbers:
        options, operator = steps(value, numbers), next(words, "")
        if operator not in OPERATIONS or not (number := next(words, "")).isdecimal():
            return True
        if (operator, int(number)) not in options:
            return True
        value, numbers = options[operator, int(number)], without(numbers, int(number))
        if next(words, None) != "=" or next(words, None) != str(value):
            return True
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=_gym.generates(
        "countdown",
        settings=lambda level: {
            **{"min_numbers": level, "max_numbers": level, "min_value": 1, "max_value": 9},
            **{"min_target": 10, "max_target": LARGEST},
        },
        words=_words,
        chance=chance,
        solutions=solutions,
        key=_key,
    ),
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(3, 4, 5, 6),  # m
    label=LABEL,
    verifier="reasoning_gym",
    answer=_gym.ANSWER,
    decisions=DECISIONS,
    vocabulary=VOCABULARY,
    library=reasoning_gym.MADE_BY,
    question=_gym.question,
)

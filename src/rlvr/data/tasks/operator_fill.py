r"""Fill in the operators: the embedded task, small enough for a laptop and real enough to learn.

A problem gives n integers from 1..9 in fixed order and a target in 0..63: `8 7 6 2 = 52`. The response puts
+, - or * between them, evaluated from left to right with every intermediate value in 0..63, writes each step
down and boxes the expression: `8 * 7 = 56 - 6 = 50 + 2 = 52 \boxed{ ( ( ( 8 * 7 ) - 6 ) + 2 ) }`. There are 3^(n-1)
candidates; demonstrations follow a correct operator sequence or, for a declared share, a random one, so that
SFT yields a base that samples widely and is often wrong.
"""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _operators, _splits
from rlvr.records import Demonstration, Problem
from rlvr.verifiers.operator_chain import OPERATIONS, OPERATORS, after

DECISIONS = OPERATORS
ANSWER = "\\boxed{"
LARGEST = 63  # every intermediate value is in 0..LARGEST
DIGITS = range(1, 10)
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
VOCABULARY = (*SPECIAL_TOKENS, *(str(i) for i in range(LARGEST + 1)), *OPERATORS, "=", "(", ")", "\\boxed{", "}")

# Every problem belongs to exactly one part, by a hash of its text: splits cannot overlap.
PARTS = {"train": 50, "sft": 30, "validation": 5, "easy": 8, "hard": 7}
LABEL = "n={}"


def part_of(numbers: tuple[int, ...], target: int) -> str:
    """The one split that may hold this problem."""
    return _splits.part_of(text_of(numbers, target), PARTS)


def text_of(numbers: tuple[int, ...], target: int) -> str:
    return f"{' '.join(map(str, numbers))} = {target}"


def values(numbers: tuple[int, ...], operators: tuple[str, ...]) -> list[int] | None:
    """The value after each operator, or None if one of them leaves 0..63."""
    return _operators.values(numbers[0], operators, numbers[1:], LARGEST)


def solutions(numbers: tuple[int, ...]) -> dict[int, list[tuple[str, ...]]]:
    """Operator sequences by the target that they reach."""
    return _operators.ways(numbers[0], numbers[1:], LARGEST)


def parse(prompt: str) -> tuple[tuple[int, ...], int]:
    """The numbers and the target of a problem."""
    left, right = prompt.split(" = ")
    return tuple(map(int, left.split())), int(right)


def respond(numbers: tuple[int, ...], operators: tuple[str, ...]) -> str:
    """The response for this operator sequence; spaces separate its tokens."""
    path = values(numbers, operators)
    if path is None:
        raise ValueError(f"{operators} leaves 0..{LARGEST} on {numbers}")
    steps = [str(numbers[0])]
    boxed = ["("] * (len(numbers) - 1) + [str(numbers[0])]
    for operator, number, value in zip(operators, numbers[1:], path, strict=True):
        steps += [operator, str(number), "=", str(value)]
        boxed += [operator, str(number), ")"]
    return " ".join([*steps, "\\boxed{", *boxed, "}"])


def generate_problems(
    part: str,
    levels: list[int],
    count: int,
    max_solutions: int | None,
    generator: np.random.Generator,
    max_chance: float | None = None,
    unseen: str | None = None,
) -> list[Problem]:
    """Up to `count` different problems of one part, shared evenly between the levels (values of n), in turn.

    A level whose part holds fewer problems than its share (n = 3 has about 4,000 in all) gives all of them.
    `max_solutions` keeps only problems with at most that many correct operator sequences, `max_chance` only those that
    a blind guess hits with at most this probability. The task has no families that are `unseen`.
    """
    limits = (max_solutions or math.inf, 1.0 if max_chance is None else max_chance)
    return _splits.in_turn(levels, count, lambda n, share: _draw(part, n, share, limits, generator))


def _draw(part: str, n: int, count: int, limits: tuple[float, float], generator: np.random.Generator) -> list[Problem]:
    """Problems with at most so many solutions, and at most so likely to be guessed."""
    most, likely = limits
    problems: dict[str, Problem] = {}
    for numbers in _tuples(n, generator):
        if len(problems) == count:
            break
        reached = solutions(numbers)
        most_here = min(most, likely * sum(map(len, reached.values())))
        targets = [target for target, ways in sorted(reached.items()) if len(ways) <= most_here]
        targets = [target for target in targets if part_of(numbers, target) == part]
        if targets:
            # One target of each tuple on a pass, so that the problems spread over many tuples.
            text = text_of(numbers, _splits.pick(targets, generator))
            problems.setdefault(text, Problem(f"{part}-{text}", text, text, LABEL.format(n)))
    return list(problems.values())


def _tuples(n: int, generator: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Tuples of n digits in random order: a few passes over all of them if they are few, else random draws."""
    if len(DIGITS) ** n <= 1000:
        everything = list(product(DIGITS, repeat=n))
        for _ in range(12):
            for i in generator.permutation(len(everything)):
                yield everything[i]
    else:
        for _ in range(1_000_000):
            yield tuple(int(i) for i in generator.integers(DIGITS.start, DIGITS.stop, size=n))


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the levels in turn; the problems of a small level repeat.

    For `random_share` of them the operators are random, and usually miss the target.
    """
    levels: dict[str, list[Problem]] = {}
    for problem in problems:
        levels.setdefault(problem.level, []).append(problem)
    demonstrations = []
    for i in range(count):
        same_level = list(levels.values())[i % len(levels)]
        problem = same_level[(i // len(levels)) % len(same_level)]
        numbers, target = parse(problem.prompt)
        reached = solutions(numbers)
        if generator.random() < random_share:
            candidates = [operators for sequences in reached.values() for operators in sequences]
        else:
            candidates = reached[target]
        operators = _splits.pick(candidates, generator)
        demonstrations.append(Demonstration(problem.id, problem.prompt, respond(numbers, operators)))
    return demonstrations


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct: uniform among the operator sequences that keep values in range."""
    numbers, target = parse(prompt)
    return _operators.share(solutions(numbers), target)


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box has a step that is false, missing or unreadable."""
    return false_step(prompt, iter(response.split(ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    (value, *numbers), _ = parse(prompt)
    if next(words, None) != str(value):
        return True
    for number in numbers:
        operator = next(words, "")
        if operator not in OPERATIONS or any(next(words, "") != word for word in (str(number), "=")):
            return True
        value = after(value, operator, number)
        if next(words, "") != str(value):
            return True
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=generate_problems,
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(2, 3, 4, 5, 6, 7),  # n
    label=LABEL,
    verifier="operators",
    answer=ANSWER,
    decisions=tuple(DECISIONS),
    vocabulary=VOCABULARY,
)

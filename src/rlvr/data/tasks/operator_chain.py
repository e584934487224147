r"""Operator chain: fill in the operators so that the running value meets every target on its way.

A problem is a row of digits with targets in between: `5 4 3 = 17 2 6 = 25`. The answer puts +, - or * before every
digit after the first. Evaluated from left to right, with all values in 0..31, the running value must be 17 after the 3
and 25 after the 6. The response takes the targets one by one: it writes the next digits and their target, then each
operator with its value, and at last boxes the operators: `5 4 3 17 * 20 - 17 2 6 25 + 19 + 25 \boxed{ * - + + }`.

Level m is the number of targets, with two operators each, so 9^m candidates. Each target is a matter of skill: which
two operators lead there has to be seen before the first is written. A blind guesser meets all of them with a
probability that falls exponentially in m (`chance`), so wrong answers far outnumber the rollouts of a group, as in the
papers' mathematics. In a demonstration a share of the targets is guessed blindly.

Two families are left out of demonstrations, for tests out of domain and for what only RL can teach: problems with one
`unseen` digit, of 7 to 9, as the first number or as one of the others. The words are known, as values; computing with
them is not.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _operators
from rlvr.data.tasks._splits import LABEL, PARTS, drawn_in_turn, pick
from rlvr.records import Demonstration, Problem
from rlvr.verifiers.operator_chain import OPERATIONS, OPERATORS, after, parse

DECISIONS, ANSWER = OPERATORS, "\\boxed{"
LARGEST = 31  # every value is in 0..LARGEST
GAPS = 2  # operators before each target
DIGITS = range(2, 7)
UNSEEN = ("first", "operand")  # families that no demonstration has: the place of the unseen digit
UNSEEN_DIGITS = range(7, 10)
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
VOCABULARY = (*SPECIAL_TOKENS, *(str(i) for i in range(LARGEST + 1)), *OPERATORS, "=", "\\boxed{", "}")


@cache
def ways(value: int, digits: tuple[int, ...]) -> dict[int, list[tuple[str, ...]]]:
    """The operator sequences that keep every value in range, by the value that they reach."""
    return _operators.ways(value, digits, LARGEST)


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct.

    The guesser knows the rules and computes without errors: for each target it draws uniformly among the operator
    sequences that keep the values in range.
    """
    value, stretches = parse(prompt)
    probability = 1.0
    for digits, target in stretches:
        probability *= _operators.share(ways(value, digits), target)
        value = target
    return probability


def generate_problems(
    part: str,
    levels: list[int],
    count: int,
    max_solutions: int | None,
    generator: np.random.Generator,
    max_chance: float | None = None,
    unseen: str | None = None,
) -> list[Problem]:
    """Up to `count` different problems of one part, shared evenly between the levels (numbers of targets), in turn.

    A level whose part holds fewer problems than its share (m = 1 has about 2,000 in all) gives those that are found.
    `max_solutions` keeps only problems with at most that many correct operator sequences, `max_chance` only those that
    a blind guess hits with at most this probability. `unseen` is one of UNSEEN.
    """

    return drawn_in_turn(
        *(part, levels, count),
        draw=lambda level: _draw(level, max_solutions, generator, unseen),
        fits=lambda text: max_chance is None or chance(text) <= max_chance,
        problem=lambda text, level: Problem(f"{part}-{text}", text, text, LABEL.format(level)),
    )


def _draw(level: int, max_solutions: int | None, generator: np.random.Generator, unseen: str | None) -> str | None:
    """A random problem, its targets drawn among the values in reach; None if `max_solutions` leaves no target."""
    digits = generator.integers(DIGITS.start, DIGITS.stop, size=1 + GAPS * level).tolist()
    if unseen is not None:
        place = 0 if unseen == "first" else int(generator.integers(1, len(digits)))
        digits[place] = int(generator.integers(UNSEEN_DIGITS.start, UNSEEN_DIGITS.stop))
    value, solutions, words = digits[0], 1, [str(digits[0])]
    for i in range(1, len(digits), GAPS):
        reached = ways(value, tuple(digits[i : i + GAPS]))
        targets = [t for t, found in sorted(reached.items()) if len(found) * solutions <= (max_solutions or np.inf)]
        if not targets:
            return None
        value = pick(targets, generator)
        solutions *= len(reached[value])
        words += [*map(str, digits[i : i + GAPS]), "=", str(value)]
    return " ".join(words)


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn.

    The operators before a target are correct ones or, for `random_share` of the targets, a blind guess; a guess that
    misses makes the answer wrong, and the response goes on from where it is, by a guess where the next target is out
    of reach. Every step that is written is true.
    """
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    value, stretches = parse(problem.prompt)
    words, boxed = [str(value)], []
    for digits, target in stretches:
        reached = ways(value, digits)
        candidates = reached.get(target, [])
        if not candidates or generator.random() < random_share:
            candidates = [operators for found in reached.values() for operators in found]
        if not candidates:  # no step keeps the value in range
            break
        operators = pick(candidates, generator)
        path = _operators.values(value, operators, digits, LARGEST) or []
        words += [*map(str, digits), str(target)]
        words += [word for operator, result in zip(operators, path, strict=True) for word in (operator, str(result))]
        boxed += operators
        value = path[-1]
    return Demonstration(problem.id, problem.prompt, " ".join([*words, "\\boxed{", *boxed, "}"]))


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box has a step that is false, missing or unreadable."""
    return false_step(prompt, iter(response.split(ANSWER)[0].split()))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false."""
    value, stretches = parse(prompt)
    if next(words, None) != str(value):
        return True
    for digits, target in stretches:
        if any(next(words, None) != str(number) for number in (*digits, target)):
            return True
        for digit in digits:
            operator = next(words, "")
            if operator not in OPERATIONS or next(words, None) != str(value := after(value, operator, digit)):
                return True
    return next(words, None) is not None


TASK = TaskKind(
    generate_problems=generate_problems,
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(1, 2, 3, 4, 5, 6, 7, 8),  # m
    label=LABEL,
    verifier="operator_chain",
    answer=ANSWER,
    decisions=tuple(DECISIONS),
    vocabulary=VOCABULARY,
    unseen=UNSEEN,
)

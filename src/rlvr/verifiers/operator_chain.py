"""Operator chain: the boxed operators, applied from left to right, must meet every target of the problem.

Between two targets the value may leave the range of the task: the box is judged, not the working (`false_working`).
"""

from functools import lru_cache
from operator import add, mul, sub
from typing import NamedTuple

from rlvr.verifiers import Judgement, VerifierError, VerifierKind, last_boxed
from rlvr.verifiers.memory import remembered

VERSION = 1
OPERATORS = "+-*"
OPERATIONS = {"+": add, "-": sub, "*": mul}
REMEMBERED = 16 << 20  # bytes of boxes and their verdicts; rollouts of one problem repeat each other


class Stretch(NamedTuple):
    """The digits up to a target, without the problem's first."""

    digits: tuple[int, ...]
    target: int


@lru_cache(maxsize=4096)  # a problem has many rollouts
def parse(text: str) -> tuple[int, tuple[Stretch, ...]]:
    """A problem's first digit and its stretches. Raises ValueError for any other text."""
    first, *rest = text.split()
    words, digits, stretches = iter(rest), [], []
    for word in words:
        if word != "=":
            digits.append(int(word))
            continue
        if not digits:
            raise ValueError(f"a target without digits: {text!r}")
        stretches.append(Stretch(tuple(digits), int(next(words, "nothing"))))
        digits = []
    if digits or not stretches:
        raise ValueError(f"digits without a target: {text!r}")
    return int(first), tuple(stretches)


def after(value: int, operator: str, digit: int) -> int:
    """The value after one operation; an operator that is none of the three is a KeyError."""
    return OPERATIONS[operator](value, digit)


def check_gold(gold: str) -> None:
    try:
        parse(gold)
    except ValueError as error:
        example = "such as `5 4 3 = 17 2 6 = 25`"
        raise VerifierError(f"not a gold of the verifier `operator_chain`, {example}: {gold[:80]!r}") from error


def judge(text: str, gold: str) -> Judgement:
    """Judges the last box. Raises VerifierError for a gold that is no row of digits with targets."""
    extracted = last_boxed(text)
    return ("unparsable", None) if extracted is None else _judged(extracted, gold)


@remembered(REMEMBERED)
def _judged(extracted: str, gold: str) -> Judgement:
    check_gold(gold)
    value, stretches = parse(gold)
    operators = extracted.split()
    if len(operators) != sum(len(digits) for digits, _ in stretches) or not OPERATIONS.keys() >= set(operators):
        return "unparsable", extracted
    following = iter(operators)
    for digits, target in stretches:
        for digit in digits:
            value = after(value, next(following), digit)
        if value != target:
            return "wrong", extracted
    return "correct", extracted


# Always fast: some integer operations.
VERIFIER = VerifierKind(judge=judge, quick=judge, version=VERSION, check_gold=check_gold, of_a_task=True)

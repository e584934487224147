"""Operator chain: the boxed operators, applied from left to right, must meet every target of the problem."""

from rlvr.data.tasks.operator_chain import OPERATORS, after, parse
from rlvr.verifiers import Judgement, VerifierError, last_boxed
from rlvr.verifiers.memory import remembered

VERSION = 1
REMEMBERED = 16 << 20  # bytes of boxes and their verdicts; rollouts of one problem repeat each other


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
    if len(operators) != sum(len(digits) for digits, _ in stretches) or not set(operators) <= set(OPERATORS):
        return "unparsable", extracted
    following = iter(operators)
    for digits, target in stretches:
        for digit in digits:
            value = after(value, next(following), digit)
        if value != target:
            return "wrong", extracted
    return "correct", extracted


quick = judge  # always fast: some integer operations

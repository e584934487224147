r"""Operator fill: the boxed expression must use the given numbers, in order, and reach the target.

The expression is parsed, not matched: left-to-right parentheses, spaces and redundant parentheses are read by
Python's own expression grammar, restricted to integers, +, - and *. Boxing the target itself does not pass.
"""

import ast
import operator
import re

from rlvr.verifiers import Judgement, VerifierError, VerifierKind, last_boxed
from rlvr.verifiers.memory import remembered

VERSION = 1
LONGEST = 400  # characters of an expression worth parsing
REMEMBERED = 16 << 20  # bytes of expressions and their verdicts; rollouts of one problem repeat each other
_GOLD = re.compile(r"\s*-?[0-9]+(?:\s+-?[0-9]+)* = \s*-?[0-9]+\s*")
_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def check_gold(gold: str) -> None:
    if not _GOLD.fullmatch(gold):
        raise VerifierError(f"not a gold of the verifier `operators`, such as `1 2 3 = 7`: {gold[:80]!r}")


def judge(text: str, gold: str) -> Judgement:
    """Judges the last box. Raises VerifierError for a gold that is no row of numbers with a target."""
    extracted = last_boxed(text)
    return ("unparsable", None) if extracted is None else _judged(extracted, gold)


@remembered(REMEMBERED)
def _judged(extracted: str, gold: str) -> Judgement:
    check_gold(gold)
    left, target = gold.split(" = ")
    try:
        if len(extracted) > LONGEST:
            raise ValueError("too long")
        numbers, value = _evaluate(ast.parse(extracted, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unparsable", extracted
    right = numbers == [int(number) for number in left.split()] and value == int(target)
    return ("correct" if right else "wrong"), extracted


def _evaluate(node: ast.expr) -> tuple[list[int], int]:
    """The integers of an expression in order, and its value. Raises ValueError for any other syntax."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node.value], node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        return left[0] + right[0], _OPERATIONS[type(node.op)](left[1], right[1])
    raise ValueError(f"{type(node).__name__} is not part of an operator-fill answer")


# Always fast: the expression is short, and integers of a few numbers stay small.
VERIFIER = VerifierKind(judge=judge, quick=judge, version=VERSION, check_gold=check_gold, of_a_task=True)

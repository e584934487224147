r"""Operator fill: the boxed expression must use the given numbers, in order, and reach the target.

The expression is parsed, not matched: left-to-right parentheses, spaces and redundant parentheses are read by
Python's own expression grammar, restricted to integers, +, - and *. Boxing the target itself does not pass.
"""

from __future__ import annotations

import ast
import operator
from functools import lru_cache

from rlvr.verifiers import last_boxed

VERSION = 1
LONGEST = 400  # characters of an expression worth parsing
_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


@lru_cache(maxsize=50_000)  # rollouts of one problem repeat each other
def judge(text: str, gold: str) -> tuple[str, str | None]:
    extracted = last_boxed(text)
    if extracted is None:
        return "unparsable", None
    left, target = gold.split(" = ")
    try:
        if len(extracted) > LONGEST:
            raise ValueError("too long")
        numbers, value = _evaluate(ast.parse(extracted, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unparsable", extracted
    right = numbers == [int(number) for number in left.split()] and value == int(target)
    return ("correct" if right else "wrong"), extracted


quick = judge  # always fast: the expression is short, and integers of a few numbers stay small


def _evaluate(node: ast.expr) -> tuple[list[int], int]:
    """The integers of an expression in order, and its value. Raises ValueError for any other syntax."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node.value], node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        return left[0] + right[0], _OPERATIONS[type(node.op)](left[1], right[1])
    raise ValueError(f"{type(node).__name__} is not part of an operator-fill answer")

"""Operators between digits, evaluated from left to right, with every value in 0..largest."""

from itertools import product

from rlvr.verifiers.operator_chain import OPERATORS, after


def values(value: int, operators: tuple[str, ...], digits: tuple[int, ...], largest: int) -> list[int] | None:
    """The value after each operator, or None if one of them leaves 0..largest."""
    path = []
    for operator, digit in zip(operators, digits, strict=True):
        value = after(value, operator, digit)
        if not 0 <= value <= largest:
            return None
        path.append(value)
    return path


def ways(value: int, digits: tuple[int, ...], largest: int) -> dict[int, list[tuple[str, ...]]]:
    """The operator sequences that keep every value in range, by the value that they reach."""
    reached: dict[int, list[tuple[str, ...]]] = {}
    for operators in product(OPERATORS, repeat=len(digits)):
        if (path := values(value, operators, digits, largest)) is not None:
            reached.setdefault(path[-1], []).append(operators)
    return reached


def share(reached: dict[int, list[tuple[str, ...]]], target: int) -> float:
    """The share of these operator sequences that reach the target."""
    return len(reached.get(target, ())) / max(1, sum(map(len, reached.values())))

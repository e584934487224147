"""Values and equality of plain answers, by math-verify and sympy.

Functions import sympy where they need it: the import takes a second, and most answers do without. docs/grading.md lists
where a verdict is not math-verify's own.
"""

import logging
import re
import threading
from functools import lru_cache
from math import isfinite, trunc
from typing import Any

NOT_COMPARABLE = "Can't evaluate nan or zoo"  # math-verify raises this on purpose; any other error is a fault
IN_A_WORKER = False  # set by `in_a_worker`
_TWO_NUMBERS = re.compile(r"(?<![\w.^])\d+(?:\.\d+)? \d")  # but not \log_2 3


def in_a_worker() -> None:
    """Turn off math-verify's time-out: the pool has its own."""
    global IN_A_WORKER
    IN_A_WORKER = True
    logging.disable(logging.WARNING)  # else math-verify warns at each call that its time-out is off


def _seconds() -> int | None:
    """math-verify's time-out; None in a pool, and in threads that its signal cannot reach."""
    return None if IN_A_WORKER or threading.current_thread() is not threading.main_thread() else 5


@lru_cache(maxsize=1024)  # every sample of a problem has the same gold
def whole(answer: str) -> tuple:
    """A whole answer as math-verify reads it; its text alone, never a part of it, if math-verify cannot."""
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse
    from sympy import nan, zoo

    if _TWO_NUMBERS.search(answer):
        return (answer,)  # math-verify adds them: 7 5 would be 12
    # Without math-verify's units, which include single letters: 6t would be 6.
    normal = NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="last", equations=False
    )
    config = LatexExtractionConfig(boxed_match_priority=0, normalization_config=normal)
    parsed = parse(f"\\boxed{{{answer}}}", [config], parsing_timeout=_seconds(), raise_on_error=True)  # type: ignore[arg-type]
    values = (part for part in parsed if isinstance(part, str) or not part.has(nan, zoo))
    connectives = re.findall(r"(?<![a-zA-Z])(?:or|and)(?![a-zA-Z])", answer)
    return tuple(_joined_conditions(part, connectives[0]) if len({*connectives}) == 1 else part for part in values)


def _joined_conditions(value: Any, word: str) -> Any:
    """`x < -1 or x > 1` as a set of numbers, conditions with `and` as one condition; any other value unchanged."""
    from sympy import And, Eq, FiniteSet, Union
    from sympy.core.relational import Relational

    conditions: list[Any] = list(value.args) if isinstance(value, FiniteSet) else []
    if not all(isinstance(one, Relational) and not isinstance(one, Eq) for one in conditions):
        return value
    symbols = {symbol for one in conditions for symbol in one.free_symbols}
    if len(symbols) != 1:
        return value
    return And(*conditions) if word == "and" else Union(*(one.as_set() for one in conditions))


def extracted(text: str) -> tuple:
    from math_verify import parse  # sympy takes a second to import: not before it is needed

    return tuple(parse(text, parsing_timeout=_seconds(), raise_on_error=True))  # type: ignore[arg-type]


def equal(gold: tuple, answer: tuple) -> bool:
    """math-verify's verdict, except on numbers that are not close relative to their size: those differ.

    A condition can equal a condition or an interval, but never a list of points: 2 < x < 3 is not 2, 3.
    """
    from math_verify import verify
    from math_verify.utils import timeout

    if not gold or not answer:
        return False
    decided = timeout(timeout_seconds=_seconds())(_decided_before)(gold[0], answer[0])  # type: ignore[arg-type]
    first = _as_equations(gold[0], answer[0])
    if decided is not None or first is None:
        return bool(decided)
    try:
        return verify(
            [first[0], *gold[1:]],
            [first[1], *answer[1:]],
            timeout_seconds=_seconds(),
            raise_on_error=True,
            allow_set_relation_comp=True,
        )
    except ValueError as error:
        if str(error) != NOT_COMPARABLE:
            raise
        return False


def _decided_before(gold: Any, answer: Any) -> bool | None:
    """The verdict on distant numbers, conditions against points, and conditions on the same numbers; else None."""
    if (complex_numbers := _complex(gold, answer)) is not None:
        return complex_numbers
    if _apart(gold, answer) or _condition_and_points(gold, answer):
        return False
    return True if _same_set(gold, answer) else None


def _condition_and_points(gold: Any, answer: Any) -> bool:
    from sympy import Eq, FiniteSet, Tuple
    from sympy.core.relational import Relational
    from sympy.logic.boolalg import And

    def condition(value: Any) -> bool:
        parts = value.args if isinstance(value, And) else (value,)
        return all(isinstance(part, Relational) and not isinstance(part, Eq) for part in parts)

    def points(value: Any) -> bool:
        return isinstance(value, (FiniteSet, Tuple)) and not any(condition(part) for part in value.args)

    return (condition(gold) and points(answer)) or (points(gold) and condition(answer))


def _same_set(gold: Any, answer: Any) -> bool:
    """Whether two conditions on the same variable hold for the same numbers, or one for the numbers of a set."""
    from sympy import Set
    from sympy.core.relational import Relational
    from sympy.logic.boolalg import And

    conditions = [value for value in (gold, answer) if isinstance(value, (Relational, And))]
    sets = [value for value in (gold, answer) if isinstance(value, Set) and not value.free_symbols]
    if len(conditions) + len(sets) < 2 or not conditions or any(len(one.free_symbols) != 1 for one in conditions):
        return False
    try:
        holds = [condition.as_set() for condition in conditions]
        return conditions[0].free_symbols == conditions[-1].free_symbols and bool(holds[0] == [*holds, *sets][1])
    except (NotImplementedError, TypeError, ValueError, AttributeError):  # sympy cannot solve them
        return False


def _complex(gold: Any, answer: Any) -> bool | None:
    """Equality of two numbers if one of them has the symbol i and no other; None if the symbols' values matter."""
    from sympy import Expr, I, Symbol

    if not all(isinstance(value, Expr) for value in (gold, answer)):
        return None
    symbols = gold.free_symbols | answer.free_symbols
    if {symbol.name for symbol in symbols} != {"i"} or not all(_small(value) for value in (gold, answer)):
        return None
    (symbol,) = symbols
    left, right = (value.xreplace({symbol: I}).evalf(30) for value in (gold, answer))
    if not left.is_number or not right.is_number or not isinstance(symbol, Symbol):
        return None
    return bool(abs(left - right) <= 1e-12 * max(1, abs(left)))


def _small(value: Any) -> bool:
    """Whether an expression is short, and its powers can be computed at once."""
    from sympy import Pow

    return value.count_ops() < 60 and all(
        abs(number) < 10_000
        for power in value.atoms(Pow)
        for number in power.exp.atoms()
        if number.is_number and number.is_real
    )


def _as_equations(gold: Any, answer: Any) -> tuple[Any, Any] | None:
    """x != 3 as x = 3 on both sides, which math-verify can compare; None if only one side excludes something."""
    from sympy import Basic, Eq, Ne, Set

    if not isinstance(gold, Basic) or not isinstance(answer, Basic) or not (gold.has(Ne) or answer.has(Ne)):
        return gold, answer
    if isinstance(gold, Set) or isinstance(answer, Set):
        return gold, answer
    if not (gold.has(Ne) and answer.has(Ne)):
        return None
    return tuple(  # type: ignore[return-value]
        value.replace(lambda part: isinstance(part, Ne), lambda part: Eq(part.lhs, part.rhs, evaluate=False))
        for value in (gold, answer)
    )


def number(answer: str) -> Any | None:
    """An answer's value as a sympy number without free symbols; None for any other answer."""
    from sympy import Expr
    from sympy.core.function import AppliedUndef

    value = next(iter(whole(answer)), None)
    return value if isinstance(value, Expr) and value.is_number and not value.has(AppliedUndef) else None


def _apart(gold: Any, answer: Any) -> bool:
    """Whether two numbers, or two entries, are not close.

    math-verify rounds to 6 places, and differences to 15, so that all numbers below 1e-15 would be equal; and it may
    take minutes to find that log 3 is not 11,111,111,100.
    """
    pairs = zip(_entries(gold), _entries(answer), strict=False) if type(gold) is type(answer) else [(gold, answer)]
    return any(_not_close(a, b) for a, b in pairs)


def _entries(value: Any) -> list[Any]:
    """The values to compare one by one: of a matrix, a tuple, an interval, or a set in ascending order."""
    from sympy import FiniteSet, Interval, MatrixBase, Tuple

    if isinstance(value, MatrixBase):
        return list(value.flat())
    if isinstance(value, FiniteSet):
        real = all(entry.is_number and entry.is_extended_real for entry in value.args)
        return sorted(value.args, key=lambda entry: float(entry.evalf())) if real else []
    return list(value.args) if isinstance(value, (Tuple, Interval)) else [value]


def _not_close(gold: Any, answer: Any) -> bool:
    from sympy import Expr, Float

    if not all(isinstance(value, Expr) and value.is_number and _finite(value) for value in (gold, answer)):
        return False
    exact = [_rational(value) for value in (gold, answer)]
    if None not in exact:
        return exact[0] != exact[1]
    floats = sum(value.has(Float) for value in (gold, answer))
    tolerance = (1e-12, 2e-4, 2e-6)[floats]
    size, distance = abs(gold.evalf(30)), abs((gold - answer).evalf(30))
    if not (size.is_Float and distance.is_Float):
        return False
    differs = not floats and distance._prec > 1 and distance != 0  # sympy knows digits of the difference: it is not 0
    return bool(distance > tolerance * size or differs)


def _finite(value: Any) -> bool:
    """Whether a number is finite, by its digits: sympy's own facts on an unsimplified 0.0 * 10**6 may contradict."""
    return bool(value.evalf(30).is_finite)


def _rational(value: Any) -> Any | None:
    """The exact value of a rational number written without large powers; None for any other."""
    from sympy import Float, Integer, Pow

    small = all(isinstance(power.exp, Integer) and abs(power.exp) < 10_000 for power in value.atoms(Pow))
    if value.has(Float) or not small or value.count(Pow) > 6:
        return None
    exact = value.doit()
    return exact if exact.is_Rational else None


def rounds(exact: str, near: str) -> bool:
    """Whether a decimal is a real number rounded, or cut off, at its last digit."""
    decimals = re.fullmatch(r"-?\d*\.?(\d*)", near)
    left, right = number(exact), number(near)
    if decimals is None or left is None or right is None or not left.is_real:
        return False
    value, unit = float(left.evalf()), 10 ** -len(decimals.group(1))
    if not isfinite(value / unit):
        return False
    cut_off = trunc(value / unit) * unit
    return abs(value - float(right)) <= 0.5001 * unit or abs(cut_off - float(right)) < 1e-6 * unit

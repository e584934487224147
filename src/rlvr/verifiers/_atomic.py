"""Atomic groups and possessive quantifiers that match alike in every Python 3.11.

Python 3.11.0 to 3.11.4, Debian 12's among them, match `X*+` and `(?>X)` wrongly where X could backtrack
(python/cpython#106052). A lookahead is atomic in every version, so `(?=(?P<a>X))(?P=a)` says the same.
"""

import re
from collections.abc import Iterator
from itertools import count

_OPENING = re.compile(r"\((?:\?(?:>|:|P<\w+>|<?[=!]))?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})[+?]?")


def portable(pattern: str) -> str:
    """The pattern with each atomic group and possessive quantifier as a lookahead and what it matched."""
    return _sequence(pattern, 0, count())[0]


def _sequence(pattern: str, start: int, numbers: Iterator[int]) -> tuple[str, int]:
    """A part of the pattern up to its closing bracket or end, and where that is."""
    done = ""
    while start < len(pattern) and pattern[start] != ")":
        item, start = _item(pattern, start, numbers)
        quantifier = _QUANTIFIER.match(pattern, start)
        if quantifier is None:
            done += item
            continue
        start, how = quantifier.end(), quantifier.group()
        possessive = len(how) > 1 and how.endswith("+")
        done += _atomic(item + how[:-1], numbers) if possessive else item + how
    return done, start


def _item(pattern: str, start: int, numbers: Iterator[int]) -> tuple[str, int]:
    """An escape, a class, a group or a character, without its quantifier, and where it ends."""
    if pattern[start] == "\\":
        return pattern[start : start + 2], start + 2
    if pattern[start] == "[" and (found := _CLASS.match(pattern, start)):
        return found.group(), found.end()
    if opening := _OPENING.match(pattern, start):
        inner, end = _sequence(pattern, opening.end(), numbers)
        whole = _atomic(inner, numbers) if opening.group() == "(?>" else f"{opening.group()}{inner})"
        return whole, end + 1
    return pattern[start], start + 1


def _atomic(inner: str, numbers: Iterator[int]) -> str:
    name = f"atom{next(numbers)}"
    return f"(?:(?=(?P<{name}>{inner}))(?P={name}))"

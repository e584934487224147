"""Verifiers: is a completion's answer right? One module a verifier, `judge(text, gold) -> (status, extracted)`.

A verifier's file name is its name in configuration. `VERSION` in each module goes up when a verdict changes, which
grades again and samples nothing. A judgement is pure, and may take long on a hostile answer: `rlvr.verifiers.pool`
runs it where it can be killed. docs/grading.md says what each accepts.

A module may define as well
    quick(text, gold)   decides the plain cases at once and says None of others
    reads(text)         the part of a completion that its verdict depends on; all of it, where there is no `reads`
    prepare()           what each worker calls before its first question
    check()             raises VerifierError where this machine lacks what the verifier needs
    check_gold(gold)    raises VerifierError for a gold that it cannot read
    itself(gold)        how a gold is equal to itself: `correct`, or why not in a word; where golds are answers
    SECONDS             the limit of a judgement, where it is not 5
    MEMORY_MB           that of a worker; None where what it starts has limits of its own
    SLOW                True where grading takes too long to share a cluster's job with other short stages
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

STATUSES = ("correct", "wrong", "unparsable", "truncated", "timeout", "out_of_memory", "error")

OPEN = "\\boxed{"

Judgement = tuple[str, str | None]
Judge = Callable[[str, str], Judgement]
Quick = Callable[[str, str], Judgement | None]


class VerifierError(RuntimeError):
    """What is wrong with a gold or with this machine: no verdict on an answer."""


@cache
def names() -> tuple[str, ...]:
    """The modules with a VERSION; the others here are what verifiers are made of."""
    modules = sorted(Path(__file__).parent.glob("[a-z]*.py"))
    return tuple(path.stem for path in modules if re.search(r"^VERSION\b", path.read_text(), re.MULTILINE))


def load(name: str) -> Judge:
    return importlib.import_module(f"rlvr.verifiers.{name}").judge


def hook(verifier: str, name: str, otherwise: Any) -> Any:
    """What a verifier defines beside its `judge`, or `otherwise`."""
    return getattr(importlib.import_module(f"rlvr.verifiers.{verifier}"), name, otherwise)


def check_golds(verifier: str, golds: Iterable[tuple[str, str]]) -> None:
    """Raise VerifierError for the first of (place, gold) that the verifier cannot read; the message names both."""
    check_gold = hook(verifier, "check_gold", nothing)
    for place, gold in golds:
        try:
            check_gold(gold)
        except VerifierError as error:
            raise VerifierError(f"{place}: {error}") from error


def nothing(*_: object) -> None:
    """What a verifier does that needs no preparation and no check."""


def last_boxed(text: str) -> str | None:
    r"""The content of the last closed \boxed{...}, braces matched, or None."""
    start, end = _at_the_end(text)
    if end >= 0:
        return text[start:end].strip()
    found = None
    for match in re.finditer(r"\\boxed\s*\{", text):
        end = _closing(text, match.end())
        found = text[match.end() : end].strip() if end >= 0 else found
    return found


def ends_in_open_box(text: str) -> bool:
    r"""Whether the last \boxed{ is never closed: the final answer is missing, whatever an earlier box has."""
    last = text.rfind("\\boxed")
    opened = re.match(r"\\boxed\s*\{", text[last:]) if last >= 0 else None
    return opened is not None and _closing(text, last + opened.end()) < 0


def final_box(text: str) -> str | None:
    r"""`\boxed{...}` with the content that decides; `\boxed{` where the last is never closed; None without a box."""
    start, end = _at_the_end(text)
    if end >= 0:
        return text[start - len(OPEN) : end + 1]
    if start >= 0 or ends_in_open_box(text):
        return OPEN
    content = last_boxed(text)
    return None if content is None else f"{OPEN}{content}}}"


def _at_the_end(text: str) -> tuple[int, int]:
    r"""Where the content of the last \boxed begins and ends, nearly always; -1 for the end of one that is never closed.

    (-1, -1) where there is none, and where the last \boxed is not followed by its brace: regular expressions decide.
    """
    last = text.rfind("\\boxed")
    if last < 0 or not text.startswith("{", last + 6):
        return -1, -1
    return last + 7, _closing(text, last + 7)


def _closing(text: str, start: int) -> int:
    """Where the brace is that closes the one opened before `start`; -1 where there is none."""
    depth, end = 1, start - 1
    while depth:
        begun, end = end + 1, text.find("}", end + 1)
        if end < 0:
            return -1
        depth += text.count("{", begun, end) - 1
    return end


def settle(judgement: Judgement, finished: bool) -> Judgement:
    """A response that hit the token limit without an answer is `truncated`, not merely unparsable."""
    status, extracted = judgement
    return ("truncated", extracted) if status == "unparsable" and not finished else (status, extracted)

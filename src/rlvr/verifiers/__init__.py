"""Verifiers: is a completion's answer right? One module a verifier, `judge(text, gold) -> (status, extracted)`.

A verifier's file name is its name in configuration. `VERSION` in each module goes up when a verdict changes,
which grades again and samples nothing.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

STATUSES = ("correct", "wrong", "unparsable", "truncated")

Judge = Callable[[str, str], tuple[str, str | None]]


def load(name: str) -> Judge:
    return importlib.import_module(f"rlvr.verifiers.{name}").judge


def last_boxed(text: str) -> str | None:
    r"""The content of the last closed \boxed{...}, braces matched, or None."""
    found = None
    for match in re.finditer(r"\\boxed\s*\{", text):
        depth = 1
        for end in range(match.end(), len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                found = text[match.end() : end].strip()
                break
    return found


def judge_completion(judge: Judge, text: str, gold: str, finished: bool) -> tuple[str, str | None]:
    """A response that hit the token limit without an answer is `truncated`, not merely unparsable."""
    status, extracted = judge(text, gold)
    if status == "unparsable" and not finished:
        status = "truncated"
    return status, extracted

r"""Competitions whose answers are integers: AIME, AMC 23, BeyondAIME.

Copies write them as 25, "025", "27.0", "336^\circ" or \boxed{204}; the gold is the integer.
"""

from __future__ import annotations

import re
from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of
from rlvr.verifiers import last_boxed

FIELDS = {"prompt": "problem", "gold": "answer"}
OPTIONAL: set[str] = set()


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    return Draft(text_of(row["prompt"], "no question"), integer(text_of(row["gold"], "no answer")))


def integer(text: str) -> str:
    """The integer that a text stands for, without leading zeros."""
    bare = (last_boxed(text) or text).strip("$ ")
    found = re.fullmatch(r"([-+]?)0*(\d+)(?:\.0*)?(?:\s*(?:\^\s*\{?\s*\\circ\s*\}?|°))?", bare)
    if found is None:
        raise LeftOut("answer is no integer")
    sign, digits = found.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits

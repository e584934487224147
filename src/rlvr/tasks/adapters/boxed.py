r"""MATH: the gold is what the original solution boxes, since separate answer columns of copies are damaged.

The solutions box with \boxed{...}, now and then \fbox{...}, and for some short answers \boxed 5 without braces.
"""

from __future__ import annotations

import re
from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of
from rlvr.verifiers import last_boxed

FIELDS = {"prompt": "problem", "gold": "solution", "level": "level"}
OPTIONAL = {"level"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    gold = boxed(text_of(row["gold"], "no solution"))
    if not gold:
        raise LeftOut("solution boxes nothing")
    level = str(row.get("level") or "all").removeprefix("Level ")  # as in MATH-500
    return Draft(text_of(row["prompt"], "no question"), gold, level)


def boxed(solution: str) -> str | None:
    text = solution.replace("\\fbox", "\\boxed")
    bare = re.findall(r"\\boxed\s+([^\s{}$.,;]+)", text)
    return last_boxed(text) or (bare[-1] if bare else None)

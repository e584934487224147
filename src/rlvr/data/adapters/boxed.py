r"""MATH: the gold is the boxed answer of the original solution, since answer columns of copies are damaged.

Solutions box with \boxed{...}, sometimes \fbox{...}, and some short answers without braces, as in \boxed 5.
"""

import re

from rlvr.config.schema.names import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.verifiers import in_one_notation, last_boxed

FIELDS = {"prompt": "problem", "gold": "solution", "level": "level"}
OPTIONAL = {"level"}


def adapt(row: Row, spec: Published) -> Draft:
    gold = boxed(row.text("gold", "no solution"))
    if not gold:
        raise LeftOut("solution boxes nothing")
    level = row.label("level").removeprefix("Level ")  # as in MATH-500
    return Draft(row.text("prompt", "no question"), gold, level)


def boxed(solution: str) -> str | None:
    """The content of the last box, with or without braces; None without a box."""
    text = in_one_notation(solution)
    bare = list(re.finditer(r"\\boxed\s+((?:[^\s{}$.,;]|[.,](?=\d))+)", text))
    braced = [match.start() for match in re.finditer(r"\\boxed\s*\{", text)]
    if bare and (not braced or bare[-1].start() > braced[-1]):
        return bare[-1].group(1)
    return last_boxed(text)

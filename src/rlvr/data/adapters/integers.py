r"""Competitions whose answers are integers: AIME, AMC 23, BeyondAIME.

Copies write them as 25, "025", "27.0", "336^\circ" or \boxed{204}; the gold is the integer. A copy has `answer`, or a
`solution` that boxes it, or both; then `answer` counts.
"""

import re

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.golds import answer_of

FIELDS = {"prompt": "problem", "gold": "answer", "solution": "solution"}


def adapt(row: Row, spec: Published) -> Draft:
    answer = row.label("gold", "") or row.text("solution", "no answer")
    return Draft(row.text("prompt", "no question"), integer(answer))


def integer(text: str) -> str:
    """The integer that a text writes, without leading zeros."""
    bare = answer_of(text).strip("$ ")
    match = re.fullmatch(r"([-+]?)0*(\d+)(?:\.0*)?(?:\s*(?:\^\s*\{?\s*\\circ\s*\}?|°))?", bare)
    if match is None:
        raise LeftOut("answer is no integer")
    sign, digits = match.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


ADAPTER = AdapterKind(adapt, FIELDS, optional={"gold", "solution"})

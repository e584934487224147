"""TACO: `input_output` is a text with lists of inputs and outputs, and `fn_name` where a function is called."""

from __future__ import annotations

import re
from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of
from rlvr.tasks.adapters._unit_tests import asked, gold, lines, parsed

FIELDS = {
    "prompt": "question",
    "tests": "input_output",
    "starter": "starter_code",
    "level": "difficulty",
    "seconds": "time_limit",
    "memory": "memory_limit",
}
OPTIONAL = {"starter", "level", "seconds", "memory"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    question, level = text_of(row["prompt"], "no question"), str(row.get("level") or "all")
    try:
        tests = parsed(text_of(row["tests"], "no tests"))
        inputs, outputs, entry = tests["inputs"], tests["outputs"], tests.get("fn_name")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LeftOut("tests not readable") from error
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise LeftOut("inputs and outputs do not match")
    kind = "call" if entry else "stdin"
    pairs = called(inputs, outputs) if entry else [(lines(i), lines(o)) for i, o in zip(inputs, outputs, strict=True)]
    limits = {"seconds": number(row.get("seconds")), "memory_mb": whole(row.get("memory"))}
    made, dropped = gold(kind, pairs, entry=entry, **limits)
    starter = str(row.get("starter") or "") or f"def {entry}(...):"
    return Draft(asked(question, kind, starter), made, level, dropped=dropped)


def called(inputs: list[Any], outputs: list[Any]) -> list[tuple[Any, Any]]:
    """Arguments and results. Where every output is a list of one element, that list is the set's wrapping."""
    wrapped = all(isinstance(output, list) and len(output) == 1 for output in outputs)
    return [(i, o[0] if wrapped else o) for i, o in zip(inputs, outputs, strict=True)]


def number(text: Any) -> float | None:
    """ "2.0 seconds" -> 2.0; a limit of 0 or none is no limit."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)", str(text or ""))
    return float(found.group(1)) or None if found else None


def whole(text: Any) -> int | None:
    value = number(text)
    return None if value is None else round(value)

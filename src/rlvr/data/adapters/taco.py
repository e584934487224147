"""TACO: `input_output` is a text with lists of inputs and outputs, and `fn_name` if the program is a function."""

import re
from typing import Any

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._unit_tests import gold, lines, parsed, prompt_of

FIELDS = {
    "prompt": "question",
    "tests": "input_output",
    "starter": "starter_code",
    "level": "difficulty",
    "seconds": "time_limit",
    "memory": "memory_limit",
}
SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "milliseconds": 1e-3}
LEAST_SECONDS = 4.0  # its runner's limit per test; the sites' limits are for compiled programs
MEGABYTES = {"": 1.0, "mb": 1.0, "megabyte": 1.0, "megabytes": 1.0, "mib": 1.0, "kb": 1 / 1024, "kilobytes": 1 / 1024}
MEGABYTES |= {"gb": 1024.0, "gigabyte": 1024.0, "gigabytes": 1024.0, "bytes": 1 / 1024**2}


def adapt(row: Row, spec: Published) -> Draft:
    question, level = row.text("prompt", "no question"), row.label("level")
    try:
        tests = parsed(row.text("tests", "no tests"))
        inputs, outputs, entry = tests["inputs"], tests["outputs"], tests.get("fn_name")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LeftOut("tests not readable") from error
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise LeftOut("inputs and outputs do not match")
    kind = "call" if entry else "stdin"
    pairs = called(inputs, outputs) if entry else [(lines(i), lines(o)) for i, o in zip(inputs, outputs, strict=True)]
    seconds, memory = limit(row.label("seconds", ""), SECONDS), limit(row.label("memory", ""), MEGABYTES)
    seconds = seconds and max(LEAST_SECONDS, seconds)
    tests_gold, dropped = gold(kind, pairs, entry=entry, seconds=seconds, memory_mb=memory)
    starter = row.verbatim("starter") or f"def {entry}(...):"
    return Draft(prompt_of(question, kind, starter), tests_gold, level, dropped=dropped)


def called(inputs: list[Any], outputs: list[Any]) -> list[tuple[Any, Any]]:
    """Arguments and results of the tests; unwraps the outputs if each is a list of one element."""
    wrapped = all(isinstance(output, list) and len(output) == 1 for output in outputs)
    return [(i, o[0] if wrapped else o) for i, o in zip(inputs, outputs, strict=True)]


def limit(text: str, units: dict[str, float]) -> float | None:
    """ "2.0 seconds" -> 2.0; None for 0 and for no limit. Raises LeftOut for an unknown unit."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    if not match:
        return None
    unit = match.group(2).lower()
    if unit not in units:
        raise LeftOut("a limit in an unknown unit")
    return float(match.group(1)) * units[unit] or None


ADAPTER = AdapterKind(adapt, FIELDS, optional={"starter", "level", "seconds", "memory"})

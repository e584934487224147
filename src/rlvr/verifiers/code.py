r"""Programs, judged by unit tests as LiveCodeBench poses them: standard input and output, or calls of a function.

The gold is JSON: {"kind": "stdin" | "call", "entry": NAME, "tests": [{"input": ..., "output": ...}, ...]}, with
"seconds" and "memory_mb" a test and a "tolerance" where the set gives them. The program runs in `sandbox`, once a test,
and is told a test's input alone; what it wrote is compared here. docs/grading.md says when two outputs are equal.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from rlvr.verifiers import Judgement, VerifierError, sandbox

VERSION = 1
SECONDS = 600.0  # of a whole judgement; each test has its own limit
LONGEST = 200_000  # characters of a program worth running

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$", re.MULTILINE)
_PYTHON = {"", "py", "python", "python3"}


class GoldError(VerifierError):
    """A gold that is not of the form above: a defect of the data set, not a verdict on an answer."""


@dataclass(frozen=True)
class Tests:
    """A gold, read: `entry` is empty where a program reads its standard input."""

    entry: str
    tests: tuple[tuple[Any, Any], ...]
    limits: sandbox.Limits
    tolerance: float


check = sandbox.check


def check_gold(gold: str) -> None:
    read_gold(gold)


def judge(text: str, gold: str) -> Judgement:
    """Every test must pass; the first that does not ends it. `extracted` is the program."""
    tests, program = read_gold(gold), last_program(text)
    if program is None or len(program) > LONGEST:
        return "unparsable", None
    for given, wanted in tests.tests:
        status = _one(program, given, wanted, tests)
        if status != "correct":
            return status, program
    return "correct", program


def _one(program: str, given: Any, wanted: Any, tests: Tests) -> str:
    data = json.dumps(given) if tests.entry else str(given)
    outcome = sandbox.run(program, data.encode("utf-8", "surrogatepass"), tests.limits, entry=tests.entry)
    if outcome.stopped in ("time", "memory"):
        return {"time": "timeout", "memory": "out_of_memory"}[outcome.stopped]
    if outcome.stopped or outcome.code != 0:
        ran_out = outcome.errors.rstrip().rpartition("\n")[2].startswith("MemoryError")
        return "out_of_memory" if ran_out and not outcome.stopped else "wrong"
    output = outcome.output.decode("utf-8", "replace")
    equal = same_result if tests.entry else same_output
    return "correct" if equal(output, wanted, tests.tolerance) else "wrong"


def last_program(text: str) -> str | None:
    """The last closed code block marked as Python or not marked; None where a later block is never closed."""
    found, opened = None, None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group(1).startswith(opened.group(1)) and not fence.group(2):
            if opened.group(2).lower() in _PYTHON:
                found = text[opened.end() + 1 : fence.start()]
            opened = None
    return None if opened is not None else found


@lru_cache(maxsize=256)
def read_gold(gold: str) -> Tests:
    try:
        content = json.loads(gold)
        kind, entry = content["kind"], content.get("entry", "")
        tests = tuple((test["input"], test["output"]) for test in content["tests"])
        limits = {key: content[key] for key in ("seconds", "memory_mb") if content.get(key)}
        tolerance = float(content.get("tolerance") or 0.0)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GoldError(f"not a gold of the verifier `code`: {type(error).__name__}: {error}") from error
    if kind not in ("stdin", "call") or (kind == "call") != bool(entry) or not tests:
        raise GoldError('a gold of the verifier `code` has kind "stdin", or "call" with an entry, and tests')
    return Tests(entry, tests, sandbox.Limits(**limits), tolerance)


def same_output(output: str, wanted: str, tolerance: float) -> bool:
    """Equal lines, outer space and empty lines at the ends aside; in a line, tokens that are numbers by their value."""
    lines, expected = (text.strip().split("\n") for text in (output, str(wanted)))
    return len(lines) == len(expected) and all(
        _same_line(a.strip(), b.strip(), tolerance) for a, b in zip(lines, expected, strict=True)
    )


def _same_line(line: str, expected: str, tolerance: float) -> bool:
    if line == expected:
        return True
    tokens, wanted = line.split(), expected.split()
    return len(tokens) == len(wanted) and all(
        a == b or _same_number(a, b, tolerance) for a, b in zip(tokens, wanted, strict=True)
    )


def _same_number(a: str, b: str, tolerance: float) -> bool:
    try:
        left, right = Decimal(a), Decimal(b)
    except InvalidOperation:
        return False
    if not (left.is_finite() and right.is_finite()):
        return False
    return left == right or close(left, right, tolerance)


def close(a: Decimal | float, b: Decimal | float, tolerance: float) -> bool:
    """Within the tolerance, absolute or relative to the expected value."""
    try:
        left, right = float(a), float(b)
    except OverflowError:  # a whole number beyond every float
        return False
    return tolerance > 0 and abs(left - right) <= tolerance * max(1.0, abs(right))


def same_result(output: str, wanted: Any, tolerance: float) -> bool:
    """A call's result as JSON against the expected value; JSON carries no object of the program's own."""
    try:
        return _same_value(json.loads(output), wanted, tolerance)
    except (ValueError, RecursionError):
        return False


def _same_value(value: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, list) and isinstance(value, list):
        return len(value) == len(wanted) and all(
            _same_value(a, b, tolerance) for a, b in zip(value, wanted, strict=True)
        )
    if isinstance(wanted, dict) and isinstance(value, dict):
        return value.keys() == wanted.keys() and all(_same_value(value[key], wanted[key], tolerance) for key in wanted)
    if isinstance(wanted, (int, float)) and isinstance(value, (int, float)):
        return value == wanted or close(value, wanted, tolerance)
    return type(value) is type(wanted) and value == wanted

"""Unit tests as a gold: one JSON text for every set of programming problems.

{"kind": "stdin" | "call", "entry": the function's name (call), "tests": [{"input": ..., "output": ...}], "seconds"?,
"memory_mb"?, "checker"?, "tolerance"?}. With stdin, input and output are texts; with call, input is the list of
arguments, output a value. json and ast.literal_eval read published fields, never eval.
"""

import ast
import json
from collections import Counter
from typing import Any

from rlvr.data.adapters import LeftOut

MOST_SECONDS = 600  # those of the verifier's golds
MOST_MEMORY_MB = 65_536
LEAST_MEMORY_MB = 256  # sites set limits for compiled programs; Python needs several times as much
LONGEST_INTEGER = 4300  # digits; Python converts no longer integers


class _OutOfRange:
    """A number without an exact JSON text: NaN, an infinity, an integer of too many digits."""


OUT_OF_RANGE = _OutOfRange()


def parsed(text: str) -> Any:
    """A published field: JSON, or a Python literal. Raises ValueError."""
    try:
        return json.loads(text, parse_int=_integer, parse_constant=lambda _: OUT_OF_RANGE)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except json.JSONDecodeError:
        try:
            return ast.literal_eval(text.strip())
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ValueError("neither JSON nor a Python literal") from error


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= LONGEST_INTEGER else OUT_OF_RANGE


def gold(
    kind: str,
    pairs: list[tuple[Any, Any]],
    *,
    entry: str | None = None,
    seconds: float | None = None,
    memory_mb: float | None = None,
    checker: dict[str, Any] | None = None,
) -> tuple[str, Counter[str]]:
    """The gold, and the number of dropped tests by reason.

    A limit of 0 or None means no limit. Raises LeftOut without any usable test, and for a limit that the verifier
    cannot keep. `checker`: how the verifier compares outputs, if not line by line.
    """
    tests, dropped = [], Counter()
    for test_input, wanted in pairs:
        reason = unusable(kind, test_input, wanted)
        if reason:
            dropped[reason] += 1
        else:
            tests.append({"input": test_input, "output": wanted})
    if not tests:
        raise LeftOut("no usable test")
    if not ((seconds or 0) <= MOST_SECONDS and (memory_mb or 0) <= MOST_MEMORY_MB):
        raise LeftOut("a limit out of range")
    content: dict[str, Any] = {"kind": kind} | ({"entry": entry} if entry else {}) | {"tests": tests}
    if seconds:
        content["seconds"] = seconds
    if memory_mb:
        content["memory_mb"] = max(LEAST_MEMORY_MB, round(memory_mb))
    content |= checker or {}
    return json.dumps(content, ensure_ascii=False, allow_nan=False), dropped


def unusable(kind: str, test_input: Any, wanted: Any) -> str | None:
    """The reason why a test cannot be used; None if it can."""
    if kind == "stdin":
        if not isinstance(test_input, str) or not isinstance(wanted, str):
            return "not a text"
        return None if wanted.strip() else "empty output"
    if not isinstance(test_input, list):
        return "no list of arguments"
    try:
        json.dumps([test_input, wanted], allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return "out of range"
    return None


def lines(value: Any) -> Any:
    """A text, also from a list of lines, as some sets publish standard input and output."""
    listed = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "\n".join(value) if listed else value


def prompt_of(question: str, kind: str, starter: str) -> str:
    """The prompt: the question, how the program gets its input, and the code block that the verifier reads.

    No paper states these words; they are ours.
    """
    if kind == "call":
        return f"{question}\n\nComplete this code, in one Python code block:\n```python\n{starter.rstrip()}\n```"
    return f"{question}\n\nRead from standard input and write to standard output, in one Python code block."

"""CodeContests: public, private and generated tests, each a pair of lists; all of them on standard input."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of
from rlvr.tasks.adapters._unit_tests import asked, gold

TESTS = ("public", "private", "generated")
FIELDS = {
    "prompt": "description",
    "public": "public_tests",
    "private": "private_tests",
    "generated": "generated_tests",
    "seconds": "time_limit",
    "memory": "memory_limit_bytes",
    "input_file": "input_file",
    "output_file": "output_file",
}
OPTIONAL = {"seconds", "memory", "input_file", "output_file"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    question = text_of(row["prompt"], "no question")
    if row.get("input_file") or row.get("output_file"):
        raise LeftOut("reads or writes a file")
    pairs = [pair for name in TESTS for pair in _pairs(row[name] or {})]
    memory = row.get("memory") or 0
    made, dropped = gold("stdin", pairs, seconds=_seconds(row.get("seconds")), memory_mb=round(memory / 1e6) or None)
    return Draft(asked(question, "stdin", ""), made, dropped=dropped)


def _pairs(tests: dict[str, list[str]]) -> list[tuple[str, str]]:
    inputs, outputs = tests.get("input") or [], tests.get("output") or []
    if len(inputs) != len(outputs):
        raise LeftOut("inputs and outputs do not match")
    return list(zip(inputs, outputs, strict=True))


def _seconds(limit: dict[str, int] | None) -> float | None:
    if not limit:
        return None
    return (limit.get("seconds") or 0) + (limit.get("nanos") or 0) / 1e9 or None

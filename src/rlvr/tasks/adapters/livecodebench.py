"""LiveCodeBench's release files. Private tests are JSON, or base64 of zlib of a pickle of a JSON text.

A pickle may call any code, so none is ever loaded: its opcodes are listed, and what holds more than a text is refused.
"""

from __future__ import annotations

import base64
import json
import pickletools
import zlib
from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, Refused, text_of
from rlvr.tasks.adapters._unit_tests import asked, gold, parsed

FIELDS = {
    "prompt": "question_content",
    "starter": "starter_code",
    "date": "contest_date",
    "public": "public_test_cases",
    "private": "private_test_cases",
    "metadata": "metadata",
    "level": "difficulty",
}
OPTIONAL = {"starter", "level"}
TEXT = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
HARMLESS = {"PROTO", "FRAME", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "STOP"}
LARGEST = 1 << 30  # bytes of one problem's private tests; more is a bomb


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    if not within(str(row["date"] or ""), spec.since, spec.until):
        raise LeftOut("outside the dates")
    cases = json.loads(row["public"] or "[]") + private(row["private"] or "[]")
    kinds = {case["testtype"] for case in cases}
    if len(kinds) != 1:
        raise LeftOut("no usable test" if not kinds else "tests of two kinds")
    kind = "stdin" if kinds == {"stdin"} else "call"
    entry = json.loads(row["metadata"] or "{}").get("func_name") if kind == "call" else None
    if kind == "call" and not entry:
        raise LeftOut("no function name")
    pairs = [(case["input"], case["output"]) if kind == "stdin" else _called(case) for case in cases]
    made, dropped = gold(kind, pairs, entry=entry)
    prompt = asked(text_of(row["prompt"], "no question"), kind, str(row.get("starter") or ""))
    return Draft(prompt, made, str(row.get("level") or "all"), dropped=dropped)


def within(date: str, since: str | None, until: str | None) -> bool:
    """Whether a contest's day lies in the window, both ends included; dates are ISO, so they compare as texts."""
    return (since is None or date[:10] >= since) and (until is None or date[:10] <= until)


def _called(case: dict[str, str]) -> tuple[Any, Any]:
    """Arguments stand one a line, each as JSON."""
    try:
        return [parsed(line) for line in case["input"].split("\n") if line.strip()], parsed(case["output"])
    except ValueError:
        return None, None  # counted as a test without arguments


def private(field: str) -> list[dict[str, str]]:
    try:
        return json.loads(field)
    except json.JSONDecodeError:
        pass
    try:
        unpacked = zlib.decompressobj()
        content = unpacked.decompress(base64.b64decode(field, validate=True), LARGEST)
        if unpacked.unconsumed_tail:
            raise Refused(f"private tests larger than {LARGEST} bytes")
        return json.loads(pickled_text(content))
    except (ValueError, zlib.error) as error:  # ValueError: base64, opcodes and JSON that are none
        raise LeftOut("private tests not readable") from error


def pickled_text(content: bytes) -> str:
    """The text that a pickle of one text holds. Raises Refused for another opcode: global, call, list, ..."""
    texts = []
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in TEXT:
            texts.append(argument)
        elif opcode.name not in HARMLESS:
            raise Refused(f"private tests hold a pickle that is more than a text (opcode {opcode.name})")
    if len(texts) != 1:
        raise Refused(f"private tests hold a pickle of {len(texts)} texts")
    return texts[0]

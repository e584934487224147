"""LiveCodeBench's release files. Private tests are JSON, or base64 of zlib of a pickle of a JSON text.

A pickle may call any code, so it is read by an unpickler that refuses every global: it can make texts and nothing else.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
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
    except (binascii.Error, zlib.error) as error:
        raise LeftOut("private tests not readable") from error
    if unpacked.unconsumed_tail:
        raise Refused(f"private tests larger than {LARGEST} bytes")
    text = TextsOnly(io.BytesIO(content)).load()
    if not isinstance(text, str):
        raise Refused("private tests are no text")
    return json.loads(text)


class TextsOnly(pickle.Unpickler):
    """Refuses whatever a pickle would import or call."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise Refused(f"private tests hold a pickle that asks for {module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("private tests hold a pickle with a persistent id")

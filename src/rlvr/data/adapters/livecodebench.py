"""LiveCodeBench's release files. Private tests are JSON, or base64 of zlib of a pickle of a JSON text.

A pickle may call any code, so none is loaded: its opcodes are listed, and one that holds more than a text is refused.
"""

import base64
import json
import pickletools
import re
import zlib
from typing import Any

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row, UntrustedFile
from rlvr.data.adapters._unit_tests import gold, parsed, prompt_of

FIELDS = {
    "prompt": "question_content",
    "starter": "starter_code",
    "date": "contest_date",
    "public": "public_test_cases",
    "private": "private_test_cases",
    "metadata": "metadata",
    "level": "difficulty",
}
TEXT = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
HARMLESS = {"PROTO", "FRAME", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "STOP"}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
MEMORY_MB = 1024  # the highest limit of the sites (AtCoder's); LiveCodeBench's runner has none
LARGEST = 1 << 30  # bytes of one problem's private tests; more is a bomb


def adapt(row: Row, spec: Published) -> Draft:
    date = day(row)
    if not (spec.since or date) <= date <= (spec.until or date):  # ISO dates compare as texts
        raise LeftOut("outside the dates")
    cases = json.loads(row.maybe_text("public", "[]")) + private(row.maybe_text("private", "[]"))
    kinds = {case["testtype"] for case in cases}
    if len(kinds) != 1:
        raise LeftOut("no usable test" if not kinds else "tests of two kinds")
    kind = "stdin" if kinds == {"stdin"} else "call"
    entry = json.loads(row.maybe_text("metadata", "{}")).get("func_name") if kind == "call" else None
    if kind == "call" and not entry:
        raise LeftOut("no function name")
    pairs = [(case["input"], case["output"]) if kind == "stdin" else _called(case) for case in cases]
    tests_gold, dropped = gold(kind, pairs, entry=entry, memory_mb=MEMORY_MB)
    prompt = prompt_of(row.text("prompt", "no question"), kind, row.verbatim("starter"))
    return Draft(prompt, tests_gold, row.label("level"), dropped=dropped)


def facts(spec: dict[str, Any]) -> list[str]:
    return [f"Dates: {spec['since'] or 'the first'} to {spec['until'] or 'the last'}"]


def day(row: Row) -> str:
    """The day of a contest, as 2024-08-31; a row without one belongs to no window, and is left out."""
    date = row.text("date", "no contest date")[:10]
    if not DAY.fullmatch(date):
        raise ValueError(f"`{row.published('date')}` must be a date such as 2024-08-31T00:00:00")
    return date


def _called(case: dict[str, str]) -> tuple[Any, Any]:
    """The arguments of a test, one JSON value per line, and its output."""
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
            raise UntrustedFile(f"private tests larger than {LARGEST} bytes")
        return json.loads(pickled_text(content))
    except (ValueError, zlib.error) as error:  # ValueError: not base64, opcodes or JSON
        raise LeftOut("private tests not readable") from error


def pickled_text(content: bytes) -> str:
    """The text in a pickle of one text. Raises UntrustedFile for any other opcode: global, call, list, ..."""
    texts = []
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in TEXT:
            texts.append(argument)
        elif opcode.name not in HARMLESS:
            raise UntrustedFile(f"private tests hold a pickle that is more than a text (opcode {opcode.name})")
    if len(texts) != 1:
        raise UntrustedFile(f"private tests hold a pickle of {len(texts)} texts")
    return texts[0]


ADAPTER = AdapterKind(adapt, FIELDS, optional={"starter", "level"}, facts=facts)

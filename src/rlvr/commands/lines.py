"""What the commands share: JSON lines in, an error that names line and field, nothing written before all is read."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, NoReturn

import typer

from rlvr.estimators import nearest


class LineError(ValueError):
    """What is wrong with a field of a line; `field` is empty where it is the line as a whole."""

    def __init__(self, field: str, message: str):
        super().__init__(f"{field}: {message}" if field else message)


def fail(command: str, message: str) -> NoReturn:
    typer.echo(f"rlvr {command}: {message}", err=True)
    raise typer.Exit(2)


def read(command: str, file: Path | None) -> list[tuple[int, str]]:
    """The lines of a file or of standard input that are not empty, with their numbers."""
    try:
        stream = sys.stdin.buffer.read() if file is None and sys.stdin is not None else b""
        text = (file.read_bytes() if file else stream).decode("utf-8-sig")
    except OSError as error:
        fail(command, f"{file}: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(command, f"not UTF-8: byte {error.start}")
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def parse(line: str) -> dict[str, Any]:
    """A line as a JSON object."""
    try:
        content = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LineError("", f"not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise LineError("", "must be a JSON object")
    return content


def present(content: dict[str, Any], field: str, known: tuple[str, ...]) -> Any:
    """A field that must be there; where it is missing, a name close to it among the fields that are no known ones."""
    if field not in content:
        close = nearest(field, [key for key in content if key not in known] or [""])
        raise LineError(field, "is missing" + (close if close.startswith("; did") else ""))
    return content[field]


def problem_name(content: dict[str, Any], known: tuple[str, ...]) -> str:
    """The field `problem`, a name or a number."""
    problem = present(content, "problem", known)
    if not isinstance(problem, (str, int)) or isinstance(problem, bool):
        raise LineError("problem", f"must be a name or a number (got {problem!r})")
    return str(problem)


def number(value: Any, place: str) -> float:
    try:
        good = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        good = False
    if not good:
        raise LineError(place, f"must be a finite number (got {str(value)[:40]})")
    return float(value)


def count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise LineError(place, f"must be a whole number, not negative (got {str(value)[:40]})")
    return value

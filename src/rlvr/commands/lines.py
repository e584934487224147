"""Input of the commands: JSON lines, and errors that name line and field."""

import gzip
import json
import math
import sys
import zlib
from collections import Counter
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from rlvr.files import Mistake
from rlvr.suggest import missing, shown

Input = Annotated[Path | None, typer.Option("--input", help="Read this file, not standard input.")]
COMMAND = ContextVar("command", default="")  # the name of the one that runs, for its messages


class LineError(ValueError):
    """A mistake in a field of a line; `field` is empty for a mistake of the whole line."""

    def __init__(self, field: str, message: str):
        super().__init__(f"{field}: {message}" if field else message)


def say(message: str) -> None:
    """Prints one line on the standard error, if possible, after the name of the command."""
    with suppress(OSError):
        lines = filter(None, (line.strip() for line in message.splitlines()))
        typer.echo(f"{f'rlvr {COMMAND.get()}'.strip()}: {' '.join(lines)}", err=True)


def fail(message: str) -> NoReturn:
    """Ends the command with what is wrong with the arguments or the input, and exit code 2."""
    raise Mistake(message)


def to_write(option: str, path: Path | None) -> None:
    """Exits where an option names a folder, a pipe or a device: the new file would replace it."""
    if path is not None and path.exists() and not path.is_file():
        fail(f"{option}: {path} is no file")


def read(file: Path | None) -> list[tuple[int, str]]:
    """The nonempty lines of a file or of standard input, with their numbers."""
    return [(number, line) for number, line in enumerate(text_of(file).split("\n"), 1) if line.strip()]


def text_of(file: Path | None) -> str:
    """The text of a file (`.gz`: compressed) or of standard input; exits with one line where it is unreadable."""
    name = str(file or "standard input")
    try:
        return _bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(f"{name}: not UTF-8: byte {error.start}")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fail(f"{name}: not a whole .gz file: {error}")
    except OSError as error:
        fail(f"{name}: {error.strerror}")


def _bytes(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def parse(line: str) -> dict[str, Any]:
    """A line as a JSON object. Raises LineError."""
    try:
        content = json.loads(line, object_pairs_hook=_each_once)
    except RecursionError as error:
        raise LineError("", "not valid JSON: nested too deep") from error
    except json.JSONDecodeError as error:
        raise LineError("", f"not valid JSON: {error.msg} (character {error.pos + 1})") from error
    except LineError:
        raise
    except ValueError as error:  # Python rejects integers of more than 4,300 digits
        raise LineError("", "not valid JSON: an integer of thousands of digits") from error
    if not isinstance(content, dict):
        raise LineError("", "must be a JSON object")
    return content


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its pairs. Raises LineError for a repeated key: it would be unclear which value counts."""
    content = dict(pairs)
    if len(content) < len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise LineError("", f"the key {repeated[:40]!r} is twice in one object")
    return content


def present(content: dict[str, Any], field: str, known: tuple[str, ...]) -> Any:
    """A required field. Raises LineError, which names the line's unknown keys and the valid ones."""
    if field not in content:
        raise LineError(field, missing(field, content, known))
    return content[field]


def whole_numbers(text: str, option: str, least: int = 1, most: int = 10**9) -> list[int]:
    """The numbers of an option, with commas between. Exits for others, and for one that is given twice."""
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        fail(f"{option}: must be whole numbers with commas between (got {text[:80]!r})")
    if not least <= min(values) <= max(values) <= most or len({*values}) < len(values):
        fail(f"{option}: must be at least {least}, at most {most:,}, each once (got {text[:80]!r})")
    return values


def problem_name(content: dict[str, Any], known: tuple[str, ...]) -> str:
    """The field `problem`, a name or a number."""
    problem = present(content, "problem", known)
    if not isinstance(problem, (str, int)) or isinstance(problem, bool):
        raise LineError("problem", f"must be a name or a number (got {shown(problem)})")
    return str(problem)


def number(value: Any, place: str) -> float:
    try:
        good = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        good = False
    if not good:
        raise LineError(place, f"must be a finite number (got {shown(value)})")
    return float(value)


def count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise LineError(place, f"must be a whole number, not negative (got {shown(value)})")
    return value

"""What travels between stages, and how files and folders are written: whole or not at all.

A JSONL file holds one record a line; a name ending in .gz is compressed without a time stamp, so that equal
records give equal bytes.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar


@dataclass(frozen=True)
class Problem:
    """A question with a checkable answer. `level` is its difficulty class, for per-level scores.

    `images` are files relative to the one that holds the problem. `cluster` is the unit of resampling where a set
    repeats a problem in versions; empty, it is the problem itself.
    """

    id: str
    prompt: str
    gold: str
    level: str
    images: tuple[str, ...] = ()
    cluster: str = ""


@dataclass(frozen=True)
class Demonstration:
    """A prompt with a response to imitate."""

    id: str
    prompt: str
    response: str


@dataclass(frozen=True)
class Completion:
    """One sampled response, and what drew it.

    `logprob` is the sum over its tokens under the policy at temperature 1, in nats; `finish` is why it ended: "stop"
    (the policy's own end) or "length" (the token limit).
    """

    problem: str
    sample: int
    text: str
    tokens: int
    finish: str
    logprob: float
    engine: str
    version: str

    @property
    def finished(self) -> bool:
        return self.finish == "stop"


@dataclass(frozen=True)
class Tokens:
    """A completion's tokens and their log-probabilities as the engine saw them."""

    problem: str
    sample: int
    prompt: tuple[int, ...]
    response: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True)
class Grade:
    """A verifier's judgement of one completion; `status` is one of `rlvr.verifiers.STATUSES`."""

    problem: str
    sample: int
    status: str
    extracted: str | None


class PicturesUnread(RuntimeError):
    """Problems with pictures, where only text is read."""


def text_alone(problems: list[Problem], where: Path | str) -> list[Problem]:
    """The problems. Raises PicturesUnread where one has a picture, which nothing here shows to a policy."""
    pictured = [problem.id for problem in problems if problem.images]
    if pictured:
        raise PicturesUnread(
            f"{where}: {len(pictured)} problems have pictures ({pictured[0]} is the first), and only text is read here"
        )
    return problems


Record = TypeVar("Record", Problem, Demonstration, Completion, Tokens, Grade)


class RecordError(ValueError):
    """A file that does not hold what its reader expects; the message names file and line."""


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """A name beside `final` to write a file or folder under, renamed into place when all of it is written.

    What an error leaves half written is removed. A full file system ends the process with one line that names it.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    _remove(partial)
    try:
        yield partial
        if partial.is_dir():
            _remove(final)
        os.replace(partial, final)
    except BaseException as error:
        full = _no_room(error, final.parent)  # before the next line makes some
        _remove(partial)
        if full:
            sys.exit(full)
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _no_room(error: BaseException | None, folder: Path) -> str | None:
    """What to say where a full file system is behind an error: libraries wrap the system's own in others."""
    codes = (errno.ENOSPC, errno.EDQUOT)
    while error is not None:
        if getattr(error, "errno", None) in codes or any(os.strerror(code) in str(error) for code in codes):
            free, mount = shutil.disk_usage(folder).free, folder.resolve()
            while not mount.is_mount():
                mount = mount.parent
            return (
                f"{mount} is full, or its quota used up: {free / 2**20:.1f} MiB free, not enough to write in {folder}"
            )
        error = error.__cause__ or error.__context__
    return None


def publish(path: Path | str, data: bytes | str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part (same file system)."""
    with whole(Path(path)) as partial, open(partial, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())


def publish_json(path: Path | str, content: Any) -> None:
    publish(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def read_json(path: Path | str) -> Any:
    try:
        return json.loads(Path(path).read_text())
    except json.JSONDecodeError as error:
        raise RecordError(f"{path}: not valid JSON ({error}); delete the file and run again") from error


def publish_lines(path: Path | str, rows: Iterable[dict[str, Any]]) -> None:
    """Write dictionaries as JSONL."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if str(path).endswith(".gz"):
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=3, mtime=0) as file:
            file.write(data)
        data = buffer.getvalue()
    publish(path, data)


def row_of(record: Record) -> dict[str, Any]:
    """A record for JSON. A field that has its default is left out, so that one added later changes no file."""
    values = ((field, getattr(record, field.name)) for field in fields(record))
    return {field.name: value for field, value in values if value != field.default}


def publish_records(path: Path | str, records: Iterable[Record]) -> None:
    publish_lines(path, map(row_of, records))


def read_lines(path: Path | str) -> Iterator[dict[str, Any]]:
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise RecordError(f"{path}, line {number}: not valid JSON ({error})") from error


def read_records(path: Path | str, kind: type[Record]) -> list[Record]:
    """The records of a file. Fields with a default may be missing; lists become tuples."""
    names = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    records = []
    for number, row in enumerate(read_lines(path), 1):
        if not needed <= set(row) <= names:
            raise RecordError(f"{path}, line {number}: fields {sorted(row)} are not those of {kind.__name__}")
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
        records.append(kind(**values))
    return records


def sha256(path: Path | str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()

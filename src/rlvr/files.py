"""Atomic writing of files and folders, and reading with errors that name file and line.

A JSONL file has one JSON value per line. Files named .gz are compressed without a time stamp, so that equal content
gives equal bytes; those named .xz take a quarter less, and longer to write.
"""

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

BUFFER = 1 << 20  # bytes compressed at a time
SMALL = 9  # preset of .xz files
_encoded = json.JSONEncoder(ensure_ascii=False).encode


class Mistake(Exception):
    """A mistake of a user. The first line says what is wrong, where, and what to do."""

    lines: int | None = 1  # of the message that a command prints; None: all


class RecordError(Mistake, ValueError):
    """A file without the expected content; the message names file and line."""


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """A temporary path beside `final` for a file or folder, renamed to `final` when complete.

    An error removes the partial file. A full file system ends the process with one line that names it.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    remove(partial)
    try:
        yield partial
        if partial.is_dir():
            remove(final)
        os.replace(partial, final)
    except BaseException as error:
        full = _full_disk(error, final.parent)  # before the next line frees space
        remove(partial)
        if full:
            sys.exit(full)
        raise


def remove(path: Path) -> None:
    """Removes a folder with its content, or a file if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _full_disk(error: BaseException | None, folder: Path) -> str | None:
    """A message if a full file system caused an error, also one that libraries wrapped in others; else None."""
    codes = (errno.ENOSPC, errno.EDQUOT)
    while error is not None:
        if getattr(error, "errno", None) in codes or any(os.strerror(code) in str(error) for code in codes):
            free, mount = shutil.disk_usage(folder).free, folder.resolve()
            while not mount.is_mount():
                mount = mount.parent
            space = f"{free / 2**20:.1f} MiB free, not enough to write in {folder}"
            return f"{mount} is full, or its quota used up: {space}"
        error = error.__cause__ or error.__context__
    return None


def publish(path: Path | str, data: bytes | str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part (same file system)."""
    with _published(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def publish_csv(path: Path | str, rows: list[dict[str, Any]]) -> None:
    """Rows of the same keys, as pandas writes a data frame of them."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    publish(path, text.getvalue())


@contextmanager
def _published(path: Path | str) -> Iterator[BinaryIO]:
    with whole(Path(path)) as partial, open(partial, "wb") as file:
        yield file
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
    """Write dictionaries as JSONL, row by row: an error of `rows` leaves the old file."""
    with _published(path) as file, ExitStack() as closing:
        sink = file
        if str(path).endswith(".gz"):  # an empty name: the temporary one would be in the bytes
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=3, mtime=0)
            sink = closing.enter_context(io.BufferedWriter(packed, BUFFER))  # type: ignore[arg-type]
        elif str(path).endswith(".xz"):
            import lzma  # some builds of Python lack it

            sink = closing.enter_context(lzma.open(file, "wb", preset=SMALL))
        for row in rows:
            sink.write((_encoded(row) + "\n").encode())


def read_lines(path: Path | str) -> Iterator[dict[str, Any]]:
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise RecordError(f"{path}, line {number}: not valid JSON ({error})") from error


def publish_packed(path: Path | str, text: bytes | str) -> None:
    """Write a text as an .xz file, as small as it gets; equal texts give equal files."""
    import lzma

    publish(path, lzma.compress(text.encode() if isinstance(text, str) else text, preset=SMALL))


def read_text(path: Path | str) -> str:
    """The text of a file; one named .gz or .xz is unpacked."""
    with _opened(path) as file:
        return file.read()


def _opened(path: Path | str) -> TextIO:
    opener: Callable[..., Any] = gzip.open if Path(path).suffix == ".gz" else open
    if Path(path).suffix == ".xz":
        from lzma import open as opener
    return cast(TextIO, opener(path, "rt", encoding="utf-8", newline=""))


def sha256(path: Path | str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

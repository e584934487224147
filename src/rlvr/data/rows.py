"""Rows of a published file, one at a time: a set of millions of rows does not fit into memory.

The file's name tells JSON lines, a JSON list, CSV and parquet apart. Of parquet it reads only the named columns:
solutions and responses can be most of a file.
"""

import csv
import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rlvr.files import Mistake, RecordError, read_lines

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".csv", ".parquet")
BATCH = 256  # rows of a parquet file at a time
# Errors on reading a truncated, damaged or hostile file. JSON, Unicode and Arrow errors are ValueErrors.
UNREADABLE = (OSError, EOFError, ValueError, RecursionError, NotImplementedError, csv.Error, zlib.error)


class DataError(Mistake, RuntimeError):
    """A set that is not available or not readable; the message says in one line what to do."""


def read(path: Path, wanted: Mapping[str, str], optional: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows with the fields `wanted` (our name -> the file's), by our names; optional ones that are missing are None.

    Raises DataError, naming file and row, for a file of another format than its name says, or without the fields.
    """
    number = 0
    try:
        names, rows = _open(path, set(wanted.values()))
        needed = [field for ours, field in wanted.items() if ours not in optional]
        missing = [field for field in needed if field not in names]
        if missing:
            raise DataError(f"{path}: no field {missing}; the file has {sorted(names)}")
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise DataError(f"{path}, row {number}: must be a JSON object")
            lacking = [field for field in needed if field not in row]
            if lacking:
                raise DataError(f"{path}, row {number}: no field {lacking}; it has {sorted(row)}")
            yield {ours: row.get(field) for ours, field in wanted.items()}
    except RecordError as error:
        raise DataError(str(error)) from error
    except UNREADABLE as error:
        place = f"{path}, after row {number}" if number else str(path)
        raise DataError(f"{place}: {' '.join(str(error).split())}") from error


def _open(path: Path, columns: set[str]) -> tuple[set[str], Iterator[dict[str, Any]]]:
    """The names of the fields, and the rows."""
    if path.name.endswith(".parquet"):
        return _parquet(path, columns)
    if not path.name.endswith(ENDINGS):
        raise DataError(f"{path}: expected a file that ends in {', '.join(ENDINGS)}")
    rows = _csv(path) if path.suffix == ".csv" else _json(path) if path.suffix == ".json" else read_lines(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path}: no rows")
    if not isinstance(first, dict):
        raise DataError(f"{path}: rows must be JSON objects")
    return set(first), chain([first], rows)


def _parquet(path: Path, columns: set[str]) -> tuple[set[str], Iterator[dict[str, Any]]]:
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    names = set(file.schema_arrow.names)
    batches = file.iter_batches(BATCH, columns=sorted(columns & names))
    return names, (row for batch in batches for row in batch.to_pylist())


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            if None in row:
                raise ValueError("a row with more fields than the first line names")
            yield row


def _json(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a JSON list, or of JSON lines under this file name."""
    with open(path, encoding="utf-8") as file:
        is_list = file.read(1) == "["
    if not is_list:
        yield from read_lines(path)
        return
    yield from json.loads(path.read_text(encoding="utf-8"))

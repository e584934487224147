"""Parts of an evaluation's samples: an engine draws one per call, and a kill loses at most one.

A part is some problems and a range of samples. A complete part is a file and is never drawn again. A second file,
written first, says who drew it, so that equal samples are equal bytes. For several jobs, every `SLICES`-th part belongs
to one slice, and a job draws some slices. Parts and slices depend only on the evaluation, so another number of jobs
reuses them.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from rlvr import provenance
from rlvr.config.schema.settings import SLICES
from rlvr.files import RecordError, publish_json, publish_lines, read_json, read_lines
from rlvr.records import Problem, Tokens, row_of
from rlvr.sampling.engines import Sampled
from rlvr.training.lock_file import MARK

ORIGIN = "origin.json"  # beside the completions
AUDITED = 64  # problems whose first sample is stored with tokens, to compare with the trainer
Row = dict[str, Any]  # a completion, with its tokens if they are stored


@dataclass(frozen=True)
class Part:
    """Problems `start` to `stop` - 1, samples `first` to `last` - 1 of each."""

    start: int
    stop: int
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"part-{self.start:06d}-{self.first:06d}.jsonl.gz"

    @property
    def origin(self) -> str:
        return f"origin-{self.start:06d}-{self.first:06d}.json"


def rows_a_part(limits: tuple[int, int], problems: int, samples: int) -> int:
    """Completions per part that give every slice a part, within an engine's limits."""
    least, most = limits
    return min(max(-(-problems // SLICES) * samples, least), most)


def parts_of(problems: int, samples: int, rows: int) -> list[Part]:
    """Parts of about `rows` completions: several problems with all their samples, or some samples of one."""
    if samples <= rows:
        each = rows // samples
        return [Part(i, min(i + each, problems), 0, samples) for i in range(0, problems, each)]
    return [Part(i, i + 1, j, min(j + rows, samples)) for i in range(problems) for j in range(0, samples, rows)]


class Parts:
    """The planned parts of an evaluation and the finished ones, in a folder that outlives a killed job.

    `fingerprint` has all that they depend on: parts with another fingerprint are removed, with a message.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any], planned: list[Part]):
        self.folder, self.planned = folder, planned
        mark = folder / MARK
        if mark.exists() and read_json(mark) != fingerprint:
            print(f"{folder} holds samples of another policy, benchmark or engine; they are removed", flush=True)
            self.remove()
        folder.mkdir(parents=True, exist_ok=True)
        publish_json(mark, fingerprint)

    def missing(self) -> list[Part]:
        return [part for part in self.planned if not (self.folder / part.name).exists()]

    def save(self, part: Part, sampled: list[Sampled]) -> None:
        publish_json(self.folder / part.origin, provenance.collect())
        publish_lines(self.folder / part.name, [_row(part, sample) for sample in sampled])

    def rows(self) -> Iterator[Row]:
        """The rows of all planned parts, in order. Raises RecordError for a damaged part."""
        for part in self.planned:
            rows = list(read_lines(self.folder / part.name))
            if len(rows) != (part.stop - part.start) * (part.last - part.first):
                raise RecordError(f"{self.folder / part.name} is damaged; delete it and run again")
            yield from rows

    def origins(self) -> list[provenance.Origin]:
        """The origins of the planned parts, with the number of parts each."""
        paths = [self.folder / part.origin for part in self.planned]
        origins = (read_json(path) if path.exists() else provenance.unknown() for path in paths)
        return provenance.together({**origin, "parts": 1} for origin in origins)

    def remove(self) -> None:
        """Remove the parts and their mark; the folder and its lease stay, since another process may wait for it."""
        for path in [self.folder / MARK, *self.folder.glob("part-*"), *self.folder.glob("origin-*")]:
            path.unlink(missing_ok=True)


def _row(part: Part, sampled: Sampled) -> Row:
    completion = sampled.completion
    row: Row = {"completion": row_of(completion)}
    if completion.sample == 0 and part.start < AUDITED:
        logprobs = tuple(round(value, 6) for value in sampled.logprobs)
        tokens = Tokens(completion.problem, completion.sample, tuple(sampled.prompt), tuple(sampled.response), logprobs)
        row["tokens"] = row_of(tokens)
    return row


# ---- slices --------------------------------------------------------------------------------------


def slice_number(path: Path) -> int:
    """A slice's number, from its file name such as 03.jsonl.gz. Raises RecordError for another name."""
    name = path.name.removesuffix(".jsonl.gz")
    if not (name.isdecimal() and int(name) < SLICES):
        raise RecordError(f"{path}: slices are 00.jsonl.gz to {SLICES - 1:02d}.jsonl.gz")
    return int(name)


def slice_folder(state: Path, number: int) -> Path:
    return state / f"slice-{number:02d}"


def publish_slice(path: Path, fingerprint: dict[str, Any], parts: Parts) -> None:
    publish_lines(path, chain([{"fingerprint": fingerprint, "origins": parts.origins()}], parts.rows()))


@dataclass(frozen=True)
class Slice:
    """A slice's samples, read as they are asked for, all that they depend on, and who drew them."""

    fingerprint: dict[str, Any]
    origins: list[provenance.Origin]
    rows: Iterator[Row]


def read_slice(path: Path) -> Slice:
    """A slice from its file. It, and later its rows, raise RecordError for a damaged one."""
    lines = _undamaged(path)
    head = next(lines, {})
    if "fingerprint" not in head:
        raise RecordError(f"{path} is damaged (it has no fingerprint); delete it and run again")
    return Slice(head["fingerprint"], head.get("origins", [{**provenance.unknown(), "parts": 1}]), lines)


def _undamaged(path: Path) -> Iterator[Row]:
    try:
        yield from read_lines(path)
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise RecordError(f"{path} is damaged ({error}); delete it and run again") from error


# ---- the whole -----------------------------------------------------------------------------------


def in_order(shares: Iterable[Iterable[Row]], problems: list[Problem], samples: int, place: Path) -> Iterator[Row]:
    """All rows in the order of problems and samples, from shares that each are in this order.

    It holds one row per share in memory. Raises RecordError, naming `place`, for a sample that is missing, repeated, of
    another benchmark, or out of order; a missing one is noticed only after the last row.
    """
    index = {problem.id: i for i, problem in enumerate(problems)}
    advice = "delete the samples there and run again"

    def name(number: int) -> str:
        return f"sample {number % samples} of {problems[number // samples].id}"

    def numbered(share: Iterable[Row]) -> Iterator[tuple[int, Row]]:
        for row in share:
            problem, sample = row["completion"]["problem"], row["completion"]["sample"]
            if problem not in index or not 0 <= sample < samples:
                raise RecordError(f"{place}: sample {sample} of {problem} is not asked for; {advice}")
            yield index[problem] * samples + sample, row

    last, missing = -1, []  # ranges of numbers
    for number, row in merge(*map(numbered, shares), key=itemgetter(0)):
        if number <= last:
            fault = "there twice" if number == last else "out of order"
            raise RecordError(f"{place}: {name(number)} is {fault}; {advice}")
        missing += [range(last + 1, number)] if number > last + 1 else []
        last = number
        yield row
    if (end := len(problems) * samples) > last + 1:
        missing.append(range(last + 1, end))
    if missing:
        count, first = sum(map(len, missing)), missing[0][0]
        raise RecordError(f"{place}: {count} samples are missing, such as {name(first)}; {advice}")


def publish_completions(rows: Iterable[Row], completions: Path, tokens: Path) -> None:
    """Write completions row by row, and the tokens of the first AUDITED rows that have some."""
    with_tokens: list[Row] = []

    def each() -> Iterator[Row]:
        for row in rows:
            if "tokens" in row and len(with_tokens) < AUDITED:
                with_tokens.append(row["tokens"])
            yield row["completion"]

    publish_lines(completions, each())
    publish_lines(tokens, with_tokens)

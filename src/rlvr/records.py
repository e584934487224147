"""Records that stages exchange, one per line of a JSONL file."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from rlvr.files import RecordError, publish_lines, read_lines

MARK = re.compile(r"<image\d*>")  # the place of a picture in a prompt


@dataclass(frozen=True)
class Problem:
    """A question with a checkable answer. `level` is its difficulty class, for per-level scores.

    `images` are paths relative to the problem's file. `cluster` is the unit of resampling if a set has several versions
    of a problem; empty means the problem itself. `lookup` is the number of lookups until one is correct,
    0 for never and -1 where the set has none (rlvr.data.lookup).
    """

    id: str
    prompt: str
    gold: str
    level: str
    images: tuple[str, ...] = ()
    cluster: str = ""
    lookup: int = -1


@dataclass(frozen=True)
class Demonstration:
    """A prompt with a response to imitate. `images` as in Problem."""

    id: str
    prompt: str
    response: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One sampled response, and the engine that drew it.

    `logprob` is the sum over its tokens under the policy at temperature 1, in nats; `finish` is the reason for its
    end: "stop" (the policy ended it) or "length" (the token limit).
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
    """A completion's tokens and their log-probabilities by the engine."""

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


@dataclass(frozen=True)
class KeptGroup:
    """A prompt of a training step with all its rollouts; a tuple has one entry per rollout.

    `weights` are the estimator's, at the policy that sampled and under this step's `state`; with a critic, the mean
    over its tokens. `lengths` counts tokens. `logp` is log pi of the response before the update, and `log_ratio` is
    log pi - log pi_ref (ACE, Def. 1: the confidence shift c), or None without a reference; both in nats. `entropy` is
    the step's mean surprisal in nats per token. `prompt` is the text that the policy read.
    """

    step: int
    problem: str
    prompt: str
    gold: str
    responses: tuple[str, ...]
    statuses: tuple[str, ...]
    extracted: tuple[str | None, ...]
    rewards: tuple[float, ...]
    weights: tuple[float, ...]
    lengths: tuple[int, ...]
    logp: tuple[float, ...]
    log_ratio: tuple[float, ...] | None
    entropy: float
    state: dict[str, float]


class PicturesUnread(RuntimeError):
    """Problems with pictures for a stage that reads only text."""


Pictured = TypeVar("Pictured", Problem, Demonstration)


def text_alone(problems: list[Pictured], where: Path | str) -> list[Pictured]:
    """The problems. Raises PicturesUnread if one has a picture, for an engine or a backend that passes on only text."""
    pictured = [problem.id for problem in problems if problem.images]
    if pictured:
        what = f"{len(pictured)} problems have pictures ({pictured[0]} is the first)"
        raise PicturesUnread(f"{where}: {what}, and only text is read here")
    return problems


def with_paths(path: Path | str, records: Iterable[Pictured]) -> list[Pictured]:
    """The records of a file, with the paths of their pictures instead of those relative to it.

    Raises RecordError for a picture that is missing.
    """
    folder, found = Path(path).resolve().parent, []
    for record in records:
        paths = tuple(str(folder / name) for name in record.images)
        missing = next((name for name in paths if not Path(name).is_file()), None)
        if missing is not None:
            raise RecordError(f"{path}: {record.id} has the picture {missing}, which is missing")
        found.append(replace(record, images=paths) if paths else record)
    return found


def sum_of_pictures(problems: Iterable[Problem | Demonstration]) -> str:
    """A digest of all pictures of problems with paths, in order; empty if there are none."""
    paths = [path for problem in problems for path in problem.images]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest() if paths else ""


Record = TypeVar("Record", Problem, Demonstration, Completion, Tokens, Grade, KeptGroup)


def row_of(record: Record) -> dict[str, Any]:
    """A record for JSON, without fields at their default, so that a later field changes no file."""
    defaults = _defaults(type(record))
    return {name: value for name, value in vars(record).items() if name not in defaults or value != defaults[name]}


@cache
def _defaults(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def publish_records(path: Path | str, records: Iterable[Record]) -> None:
    publish_lines(path, map(row_of, records))


def read_records(path: Path | str, kind: type[Record]) -> list[Record]:
    """The records of a file. Fields with a default may be missing; lists become tuples."""
    return list(RecordFile(path, kind))


@dataclass(frozen=True)
class RecordFile(Generic[Record]):
    """The records of a file that may be larger than memory: each loop over them reads the file again."""

    path: Path | str
    kind: type[Record]

    def __iter__(self) -> Iterator[Record]:
        names = {field.name for field in fields(self.kind)}
        needed = {field.name for field in fields(self.kind) if field.default is MISSING}
        for number, row in enumerate(read_lines(self.path), 1):
            if not needed <= set(row) <= names:
                what = f"fields {sorted(row)} are not those of {self.kind.__name__}"
                raise RecordError(f"{self.path}, line {number}: {what}")
            values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
            yield self.kind(**values)

"""A published set's files -> problems.jsonl, images/ and demonstrations.jsonl, in one pass, and what was left out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.config.schema.names import Published
from rlvr.data import adapters, joins
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._pictures import ending
from rlvr.data.rows import DataError, read
from rlvr.data.sources import short
from rlvr.records import Demonstration, Problem, row_of

WRITTEN = ("problems.jsonl", "demonstrations.jsonl", "images")
EXAMPLES = 5  # rows named for each reason
# What a row of another form raises in an adapter.
UNFIT = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@dataclass
class Tally:
    """What became of the rows. `contradicting`: repeated questions with another answer than the first.

    `examples`: for each reason, the first rows that were left out for it.
    """

    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    repeated: int = 0
    contradicting: int = 0
    problems: int = 0
    demonstrations: int = 0
    tests_dropped: Counter[str] = field(default_factory=Counter)

    def leave_out(self, reason: str, place: str) -> None:
        self.left_out[reason] += 1
        if len(self.examples.setdefault(reason, [])) < EXAMPLES:
            self.examples[reason].append(place)

    def reasons(self) -> str:
        """Why rows were left out, and which, in one line."""
        parts = [
            f"{count} left out, {reason}: {rows_named(self.examples[reason], count)}"
            for reason, count in self.left_out.most_common()
        ]
        return "; ".join([f"{self.rows} rows", *parts, *([f"{self.repeated} repeated"] if self.repeated else [])])


def rows_named(examples: list[str], count: int) -> str:
    """Rows that are named, and a sign where there are more of them."""
    return f"row{'s' if count > 1 else ''} {', '.join(examples)}{', ...' if count > len(examples) else ''}"


def fields_of(spec: Published) -> dict[str, str]:
    """Our name -> the file's, as the adapter and the entry say. Raises DataError for a name that the adapter lacks."""
    adapter = adapters.load(spec.adapter)
    unknown = sorted(set(spec.fields) - set(adapter.FIELDS))
    if unknown:
        raise DataError(f"fields: the adapter {spec.adapter} has no {unknown[0]!r}; it has {adapter.FIELDS}")
    return {**adapter.FIELDS, **spec.fields}


def check_count(spec: Published, problems: int, reasons: str = "") -> None:
    """Raise DataError where the number of problems differs from the published one by more than the entry's `slack`.

    Problems that the entry itself leaves out are not expected.
    """
    if spec.problems is None:
        return
    expected = spec.problems - len(spec.special_judges)
    if abs(problems - expected) > spec.slack * expected:
        known = f", without those that need a special judge {expected}" if spec.special_judges else ""
        raise DataError(
            f"{problems} problems, and {spec.problems} are published{known}{f' ({reasons})' if reasons else ''}: is "
            "it the set's whole file? `rlvr data prepare --any-count` takes it all the same; a run takes what the "
            f"entry's `slack` allows ({spec.slack:g})"
        )


def write(
    spec: Published, paths: tuple[Path, ...], out: Path, folder: Path = Path("data"), *, any_count: bool = False
) -> Tally:
    """Write the set below `out` when all of it is known to be good; `folder` holds the sets it takes questions from.

    Raises DataError, and writes nothing, for a file that is unfit, and for one of another number of problems than is
    published unless `any_count`.
    """
    out = out.resolve()
    partial = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "images").mkdir(parents=True)
    try:
        tally = _write(spec, paths, partial, folder)
        if not any_count:
            check_count(spec, tally.problems, tally.reasons())
        out.mkdir(parents=True, exist_ok=True)
        for name in WRITTEN:
            _replace(partial / name, out / name)
    finally:
        shutil.rmtree(partial)
    return tally


def _write(spec: Published, paths: tuple[Path, ...], out: Path, folder: Path) -> Tally:
    tally = Tally()
    with open(out / "problems.jsonl", "wb") as problems, open(out / "demonstrations.jsonl", "wb") as shown:
        for problem, draft in _kept(spec, paths, folder, tally):
            problems.write(_line(row_of(problem)))
            for name, picture in zip(problem.images, draft.pictures, strict=True):
                (out / name).write_bytes(picture)
            if draft.response is not None:
                shown.write(_line(row_of(Demonstration(problem.id, problem.prompt, draft.response))))
                tally.demonstrations += 1
    if not tally.problems:
        raise DataError(f"no problem in {tally.reasons()}")
    return tally


def _line(row: dict[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _replace(made: Path, target: Path) -> None:
    """Put what was made in the place of what was there before; an empty file or folder is nothing."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if any(made.iterdir()) if made.is_dir() else made.stat().st_size:
        os.replace(made, target)


def _kept(spec: Published, paths: tuple[Path, ...], folder: Path, tally: Tally) -> Iterator[tuple[Problem, Draft]]:
    """Each different question once, the first time that it comes, with an id by its place among those kept."""
    answers: dict[bytes, bytes] = {}  # digests only: a set may have millions of rows
    for draft in _drafts(spec, paths, folder, tally):
        key, answer = _key(draft), hashlib.blake2b(draft.gold.encode(), digest_size=8).digest()
        if key in answers:
            tally.repeated += 1
            tally.contradicting += answers[key] != answer
            continue
        answers[key] = answer
        tally.tests_dropped.update(draft.dropped)
        name = f"{spec.name}-{tally.problems}"
        tally.problems += 1
        yield Problem(name, draft.prompt, draft.gold, draft.level, _images(name, draft.pictures), draft.cluster), draft


def _drafts(spec: Published, paths: tuple[Path, ...], folder: Path, tally: Tally) -> Iterator[Draft]:
    adapter, wanted = adapters.load(spec.adapter), fields_of(spec)
    check_gold = verifiers.hook(spec.verifier, "check_gold", verifiers.nothing)
    originals, special = joins.questions(spec, folder), frozenset(spec.special_judges)
    for path in paths:
        for number, values in enumerate(read(path, wanted, adapter.OPTIONAL), 1):
            place = str(number) if len(paths) == 1 else f"{short(path)}:{number}"
            tally.rows += 1
            try:
                if tally.rows - 1 in special:
                    raise LeftOut("needs a special judge")
                draft = adapter.adapt(Row(_joined(values, originals), wanted), spec)
                _check_unicode(draft)
                if draft.gold:  # a set of demonstrations has none
                    check_gold(draft.gold)
            except LeftOut as reason:
                tally.leave_out(str(reason), place)
            except verifiers.VerifierError:
                tally.leave_out(f"gold that the verifier {spec.verifier} cannot read", place)
            except UNFIT as error:
                what = f"{type(error).__name__}: {' '.join(str(error).split())}"
                raise DataError(f"{path}, row {number}: not as {spec.adapter} is published ({what})") from error
            else:
                yield draft


def _joined(row: dict[str, Any], originals: joins.Questions) -> dict[str, Any]:
    return {**row, "prompt": joins.question_of(row, originals)} if originals else row


def _check_unicode(draft: Draft) -> None:
    """Raise UnicodeEncodeError for half of a surrogate pair, which JSON can name and no file can hold."""
    for text in (draft.prompt, draft.gold, draft.level, draft.cluster, draft.response or ""):
        text.encode()


def _key(draft: Draft) -> bytes:
    """A question without its white space, and its pictures: "Find x." is another problem under another picture."""
    digest = hashlib.blake2b(" ".join(draft.prompt.split()).encode(), digest_size=16)
    for picture in draft.pictures:
        digest.update(hashlib.sha256(picture).digest())
    return digest.digest()


def _images(name: str, pictures: tuple[bytes, ...]) -> tuple[str, ...]:
    numbers = [""] if len(pictures) == 1 else [f"-{i}" for i in range(1, len(pictures) + 1)]
    return tuple(f"images/{name}{n}.{ending(p)}" for n, p in zip(numbers, pictures, strict=bool(pictures)))

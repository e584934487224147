"""A published set's files -> problems.jsonl, images/ and demonstrations.jsonl in one pass, with row counts."""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.config.registries import ADAPTERS
from rlvr.config.schema.models_and_data import Published
from rlvr.data import archive, golds, joins
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._pictures import ending
from rlvr.data.rows import DataError, read
from rlvr.data.sources import short
from rlvr.files import remove
from rlvr.records import Demonstration, Problem, row_of

WRITTEN = ("problems.jsonl", "demonstrations.jsonl", "images")
EXAMPLES = 5  # rows named per reason
# Errors of an adapter on a row of another format.
UNFIT = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@dataclass
class Tally:
    """Counts of a set's rows. `contradicting`: repeated questions with another answer than the first.

    `examples`: the first rows that were left out, by reason. `forms`: the problems, by the form of their answer field.
    """

    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    repeated: int = 0
    contradicting: int = 0
    problems: int = 0
    demonstrations: int = 0
    tests_dropped: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)

    def leave_out(self, reason: str, place: str) -> None:
        self.left_out[reason] += 1
        if len(self.examples.setdefault(reason, [])) < EXAMPLES:
            self.examples[reason].append(place)

    def reasons(self) -> str:
        """One line on the rows that were left out, by reason."""
        parts = [
            f"{count} left out, {reason}: {rows_named(self.examples[reason], count)}"
            for reason, count in self.left_out.most_common()
        ]
        return "; ".join([f"{self.rows} rows", *parts, *([f"{self.repeated} repeated"] if self.repeated else [])])


def rows_named(examples: list[str], count: int) -> str:
    """The names of some rows, with an ellipsis if there are more."""
    return f"row{'s' if count > 1 else ''} {', '.join(examples)}{', ...' if count > len(examples) else ''}"


def fields_of(spec: Published) -> dict[str, str]:
    """The file's field names by ours, from adapter and entry. Raises DataError for a name that the adapter lacks."""
    adapter = ADAPTERS.load(spec.adapter)
    unknown = sorted(set(spec.fields) - set(adapter.fields))
    if unknown:
        raise DataError(f"fields: the adapter {spec.adapter} has no {unknown[0]!r}; it has {adapter.fields}")
    return {**adapter.fields, **spec.fields}


def check_count(spec: Published, problems: int, reasons: str = "") -> None:
    """Raise DataError if the number of problems differs from the published one by more than the entry's `slack`.

    Problems that the entry leaves out do not count.
    """
    if spec.problems is None:
        return
    expected = spec.problems - len(spec.special_judges)
    if abs(problems - expected) > spec.slack * expected:
        exception = f", without those that need a special judge {expected}" if spec.special_judges else ""
        raise DataError(
            f"{problems} problems, and {spec.problems} are published{exception}{f' ({reasons})' if reasons else ''}: "
            "is the file complete? `rlvr data prepare --any-count` accepts it as it is; a run accepts only what "
            f"the entry's `slack` allows ({spec.slack:g})"
        )


def write(
    spec: Published, paths: tuple[Path, ...], out: Path, folder: Path = Path("data"), *, any_count: bool = False
) -> Tally:
    """The tally of a set written to `out`; `folder` holds the sets that it takes questions from.

    Raises DataError, and writes nothing, for an unfit file, and for another number of problems than published unless
    `any_count`.
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
    with open(out / "problems.jsonl", "wb") as problems, open(out / "demonstrations.jsonl", "wb") as demonstrations:
        for problem, draft in _distinct(spec, paths, folder, tally):
            problems.write(_line(row_of(problem)))
            for name, picture in zip(problem.images, draft.pictures, strict=True):
                (out / name).write_bytes(picture)
            if draft.response is not None:
                demonstrations.write(_line(row_of(Demonstration(problem.id, problem.prompt, draft.response))))
                tally.demonstrations += 1
    if not tally.problems:
        raise DataError(f"no problem in {tally.reasons()}")
    return tally


def _line(row: dict[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _replace(source: Path, target: Path) -> None:
    """Replace the target by a new file or folder; an empty one only removes the target."""
    remove(target)
    if any(source.iterdir()) if source.is_dir() else source.stat().st_size:
        os.replace(source, target)


def _distinct(spec: Published, paths: tuple[Path, ...], folder: Path, tally: Tally) -> Iterator[tuple[Problem, Draft]]:
    """Problems and drafts of the distinct questions, in order of first occurrence, numbered in that order."""
    answers: dict[bytes, bytes] = {}  # digests only: a set may have millions of rows
    for draft in _drafts(spec, paths, folder, tally):
        key, answer = _key(draft), hashlib.blake2b(draft.gold.encode(), digest_size=8).digest()
        if key in answers:
            tally.repeated += 1
            tally.contradicting += answers[key] != answer
            continue
        answers[key] = answer
        tally.tests_dropped.update(draft.dropped)
        tally.forms.update([draft.form] if draft.form else [])
        name = f"{spec.name}-{tally.problems}"
        tally.problems += 1
        yield Problem(name, draft.prompt, draft.gold, draft.level, _images(name, draft.pictures), draft.cluster), draft


def _drafts(spec: Published, paths: tuple[Path, ...], folder: Path, tally: Tally) -> Iterator[Draft]:
    adapter, wanted = ADAPTERS.load(spec.adapter), fields_of(spec)
    verifier = verifiers.kind(spec.verifier)
    originals, special = joins.questions(spec, folder), frozenset(spec.special_judges)
    pictures = archive.opened(paths[0].with_name(spec.archive)) if spec.archive else None
    for path in paths:
        for number, values in enumerate(read(path, wanted, adapter.optional), 1):
            place = str(number) if len(paths) == 1 else f"{short(path)}:{number}"
            tally.rows += 1
            try:
                if tally.rows - 1 in special:
                    raise LeftOut("needs a special judge")
                row = {**values, "prompt": joins.question_of(values, originals)} if originals else values
                draft = adapter.adapt(Row(row, wanted), spec)
                if pictures is not None:
                    found = [archive.picture(pictures, name) for name in draft.archived]
                    draft = replace(draft, pictures=(*draft.pictures, *found), archived=())
                for text in (draft.prompt, draft.gold, draft.level, draft.cluster, draft.response or ""):
                    text.encode()  # no file holds half of a surrogate pair, which JSON can hold
                if draft.gold:  # a set of demonstrations has none
                    gold = golds.read(draft.gold, spec.verifier, published=True)
                    draft = replace(draft, gold=gold.text, form=draft.form or gold.form)
                if draft.gold and spec.thinks:
                    assert verifier.after_think, "the schema refuses `thinks` with a verifier that looks for none"
                    draft = replace(draft, gold=verifier.after_think(draft.gold))
                if draft.gold:
                    verifier.check_gold(draft.gold)
            except (LeftOut, golds.NoAnswer) as reason:
                tally.leave_out(str(reason), place)
            except verifiers.VerifierError:
                tally.leave_out(f"gold that the verifier {spec.verifier} cannot read", place)
            except UNFIT as error:
                fault = f"{type(error).__name__}: {' '.join(str(error).split())}"
                raise DataError(f"{path}, row {number}: not as {spec.adapter} is published ({fault})") from error
            else:
                yield draft


def _key(draft: Draft) -> bytes:
    """A hash of a question without white space and of its pictures: "Find x." depends on the picture."""
    digest = hashlib.blake2b(" ".join(draft.prompt.split()).encode(), digest_size=16)
    for picture in draft.pictures:
        digest.update(hashlib.sha256(picture).digest())
    return digest.digest()


def _images(name: str, pictures: tuple[bytes, ...]) -> tuple[str, ...]:
    numbers = [""] if len(pictures) == 1 else [f"-{i}" for i in range(1, len(pictures) + 1)]
    return tuple(f"images/{name}{n}.{ending(p)}" for n, p in zip(numbers, pictures, strict=bool(pictures)))

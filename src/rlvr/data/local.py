"""Problems of one's own: a file of JSON lines with `prompt` and `answer`, and perhaps `id` and `level`.

Other keys are ignored. A mistake is an error that names file, line and key: nothing is left out silently.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlvr import verifiers
from rlvr.config.schema.models_and_data import LocalData
from rlvr.data import golds
from rlvr.data.rows import DataError
from rlvr.files import publish_lines, sha256
from rlvr.records import Problem, row_of
from rlvr.suggest import missing, shown

FIELDS = ("prompt", "answer", "id", "level")


class Line(NamedTuple):
    """A problem, its line in the file, and the form of its answer field (rlvr.data.golds)."""

    number: int
    problem: Problem
    form: str


class _NoAnswer(DataError):
    """A line whose answer field says that there is no answer."""


def read(path: Path, verifier: str) -> list[Problem]:
    """The problems of a file, in its order; ids are those of the file, else line numbers. Raises DataError."""
    return [line.problem for line in lines(path, verifier)]


def lines(path: Path, verifier: str) -> list[Line]:
    """The problems of a file with their lines.

    Raises DataError for a line that is no problem, for a repeated prompt or id, and for an answer that the verifier
    cannot read or that says that there is none; of these it names the first and counts all.
    """
    problems: list[Line] = []
    without: list[_NoAnswer] = []
    first_lines: dict[tuple[str, str], int] = {}  # (key, value) -> its line
    check_gold = verifiers.kind(verifier).check_gold
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: byte {error.start}") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            problem, form = _problem(line, place, number, verifier)
        except _NoAnswer as error:
            without.append(error)
            continue
        for key, value in (("prompt", problem.prompt), ("id", problem.id)):
            first = first_lines.setdefault((key, value), number)
            if first != number:
                raise DataError(f"{place}: {key}: the same as in line {first}")
        try:
            check_gold(problem.gold)
        except verifiers.VerifierError as error:
            raise DataError(f"{place}: answer: the verifier {verifier} cannot read it: {error}") from error
        problems.append(Line(number, problem, form))
    if without:
        raise DataError(str(without[0]) + (f" ({len(without):,} lines have none)" if len(without) > 1 else ""))
    if not problems:
        raise DataError(f'{path}: no problems; expected lines like {{"prompt": "What is 2 + 3?", "answer": "5"}}')
    return problems


def _problem(line: str, place: str, number: int, verifier: str) -> tuple[Problem, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise DataError(f"{place}: must be a JSON object")
    values = {key: _text(row[key], place, key) for key in FIELDS if row.get(key) is not None}
    for key in ("prompt", "answer"):
        if not values.get(key):
            raise DataError(f"{place}: {key}: {'is empty' if key in row else missing(key, row, FIELDS)}")
    try:
        gold = golds.read(row["answer"], verifier)
    except golds.NoAnswer as error:
        said = f"{shown(values['answer'])} is no answer ({error}); leave the line out"
        raise _NoAnswer(f"{place}: answer: {said}") from error
    problem = Problem(values.get("id") or str(number), values["prompt"], gold.text, values.get("level") or "all")
    return problem, gold.form


def _text(value: Any, place: str, key: str) -> str:
    """A text, the digits of a number, or of an answer the JSON of a list or of an object, such as unit tests."""
    if key != "answer" and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
        raise DataError(f"{place}: {key}: must be a text or a number (got {shown(value)})")
    try:
        text = golds.text_of(value)
        text.encode()
    except TypeError as error:
        raise DataError(f"{place}: {key}: {error}") from error
    except UnicodeEncodeError as error:
        raise DataError(f"{place}: {key}: holds half of a surrogate pair") from error
    return text


def taken(problems: Sequence[Line], spec: LocalData) -> list[Line]:
    """The problems of an entry, in its order."""
    order = range(len(problems)) if spec.seed is None else np.random.default_rng(spec.seed).permutation(len(problems))
    return [problems[i] for i in order][spec.skip : spec.skip + spec.problems]


def write(spec: LocalData, out: Path) -> Counter[str]:
    """Writes problems.jsonl and returns the number of its problems by the form of their answer field.

    Raises DataError if the file is another than planned.
    """
    path = Path(spec.path)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if sha256(path) != spec.sha256:
        raise DataError(f"{path}: changed since this run was planned; give the same command again, for a new run")
    part = taken(lines(path, spec.verifier), spec)
    if len(part) < spec.problems:
        raise DataError(f"{path}: too few problems to skip {spec.skip} and take {spec.problems}")
    publish_lines(out / "problems.jsonl", (row_of(line.problem) for line in part))
    return Counter(line.form for line in part)

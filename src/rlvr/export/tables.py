"""Runs, their metrics, scores and completions as parquet files; completions one evaluation after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlvr.config import identity
from rlvr.config.schema.specs import RunSpec
from rlvr.files import RecordError, read_json, read_lines
from rlvr.records import Completion, Grade, RecordFile
from rlvr.show.lookup import RunOrEvaluation

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Facts = dict[str, Any]


def runs(chosen: Sequence[RunOrEvaluation]) -> list[Facts]:
    """One row a finished run: its settings, where it was made, and what it says of itself."""
    rows = []
    for named in chosen:
        manifest = named.manifest()
        spec, made = manifest["spec"], manifest.get("provenance", {})
        row = {
            "run": named.name,
            "base": base_of(manifest),
            "estimator": spec["estimator"]["name"],
            "model": spec.get("base", {}).get("model", {}).get("name"),
            "data": spec.get("data", {}).get("name"),
            "learning_rate": spec.get("rl", {}).get("learning_rate"),
            **{key: manifest.get(key) for key in ("seed", "step", "seconds")},
            **{key: made.get(key) for key in ("commit", "device", "finished")},
            "spec": json.dumps(spec, sort_keys=True),
        }
        rows.append(row)
    return rows


def base_of(manifest: dict[str, Any]) -> str | None:
    """The policy that a run started from, which may have evaluations too; None for a manifest without settings."""
    try:
        return identity.policy_id(RunSpec.model_validate(manifest["spec"]).base)
    except ValueError:  # made by other code, whose settings this one cannot read
        return None


def metrics(chosen: Sequence[RunOrEvaluation]) -> Iterator[Facts]:
    """The rows of training, and of held-out probes (`held_out` true), of all runs; what is no number is JSON."""
    for named in chosen:
        for name, held_out in (("metrics.jsonl", False), ("probe.jsonl", True)):
            path = named.folder / name
            for row in read_lines(path) if path.is_file() else ():
                yield {"run": named.name, "held_out": held_out, **_flat(row)}


def _flat(row: dict[str, Any], prefix: str = "") -> Facts:
    flat: Facts = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = json.dumps(value) if isinstance(value, list) else value
    return flat


def scores(evaluations: Sequence[RunOrEvaluation]) -> pd.DataFrame:
    """One row per problem of each evaluation: its samples, and how many of them are correct."""
    import pandas as pd

    from rlvr.statistics.scores import read

    return pd.concat([read(named.folder / "scores.csv") for named in evaluations], ignore_index=True)


def completions(named: RunOrEvaluation) -> Iterator[Facts]:
    """One row a completion, with its verdict."""
    policy, evaluation = named.name.split("/")
    texts = RecordFile(named.folder / "completions.jsonl.gz", Completion)
    grades = RecordFile(named.folder / "grades.jsonl.gz", Grade)
    for text, grade in zip_longest(texts, grades):
        if text is None or grade is None or (text.problem, text.sample) != (grade.problem, grade.sample):
            raise RecordError(f"{named.folder}: completions and grades are not of the same samples; grade them again")
        verdict = {"status": grade.status, "extracted": grade.extracted}
        yield {"policy": policy, "evaluation": evaluation, **vars(text), **verdict}


def write_completions(evaluations: Iterable[RunOrEvaluation], folder: Path) -> Iterator[RunOrEvaluation]:
    """Write `<set>.parquet` for each evaluated set, with a row group a policy; yields each evaluation then."""
    import pyarrow.parquet as pq

    by_set = attrgetter("folder.name")
    for name, group in groupby(sorted(evaluations, key=by_set), key=by_set):
        with ExitStack() as stack:
            writer = None
            for named in group:
                table = _table(list(completions(named)))
                folder.mkdir(parents=True, exist_ok=True)
                writer = writer or stack.enter_context(pq.ParquetWriter(folder / f"{name}.parquet", table.schema))
                writer.write_table(table)
                yield named


def _table(rows: list[Facts]) -> pa.Table:
    import pyarrow as pa

    whole, real = ("sample", "tokens"), ("logprob",)
    kinds = [(key, pa.int64() if key in whole else pa.float64() if key in real else pa.string()) for key in rows[0]]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def problems_of(results: Path, evaluations: Sequence[RunOrEvaluation]) -> dict[str, Any]:
    """The card of each evaluated set, by its name."""
    names = {named.folder.name.rsplit("-n", 1)[0] for named in evaluations}
    cards = (read_json(path) for path in sorted(results.glob("data/*/card.json")))
    return {card["name"]: card for card in cards if card["name"] in names}

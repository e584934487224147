"""Stage: merge. Joins the slices of an evaluation: every sample once, in order, from one engine."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import provenance, stage_options
from rlvr.config.identity import canonical
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import RecordError, publish_json, sha256
from rlvr.records import Problem, read_records
from rlvr.sampling.parts import ORIGIN, Row, in_order, publish_completions, read_slice


def merged(
    slices: list[Path], evaluation: EvaluationSpec, problems: Path
) -> tuple[Iterator[Row], list[provenance.Origin]]:
    """The rows as one job writes them, read while they are written, and who drew them.

    Raises RecordError if slices do not fit together.
    """
    content = {path: read_slice(path) for path in slices}
    _check_equal({path: a_slice.fingerprint for path, a_slice in content.items()})
    expected = {"evaluation": canonical(evaluation), "problems": sha256(problems)}
    fingerprint = next(iter(content.values())).fingerprint
    for key, value in expected.items():
        if fingerprint[key] != value:
            raise RecordError(f"{slices[0].parent}: slices are of another {key}; delete them and run again")
    shares = [a_slice.rows for a_slice in content.values()]
    rows = in_order(shares, read_records(problems, Problem), evaluation.sampling.samples, slices[0].parent)
    return rows, provenance.together(origin for a_slice in content.values() for origin in a_slice.origins)


def _check_equal(fingerprints: dict[Path, dict[str, Any]]) -> None:
    """Raise RecordError with the first key in which slices differ, and the slices by value."""
    for key in next(iter(fingerprints.values())):
        holders: dict[str, list[str]] = {}
        for path, fingerprint in fingerprints.items():
            holders.setdefault(str(fingerprint[key]), []).append(path.name.split(".")[0])
        if len(holders) > 1:
            which = "; ".join(f"{value} in slices {', '.join(names)}" for value, names in holders.items())
            raise RecordError(
                f"{next(iter(fingerprints)).parent}: slices differ in {key}: {which}. "
                "Delete the unwanted ones and run again"
            )


def main(
    slices: Annotated[list[Path], typer.Argument(help="All slices of the evaluation.")],
    spec: stage_options.Spec,
    problems: stage_options.Problems,
    out: Annotated[Path, typer.Option(help="completions.jsonl.gz to write; also writes origin.json.")],
    tokens: Annotated[Path, typer.Option(help="tokens.jsonl.gz to write.")],
    state: stage_options.State,
) -> None:
    """Join the slices from several jobs."""
    try:
        evaluation = EvaluationSpec.model_validate_json(spec.read_bytes())
        rows, origins = merged(sorted(slices), evaluation, problems)
        publish_completions(rows, out, tokens)
    except RecordError as error:
        raise SystemExit(str(error)) from error
    publish_json(out.parent / ORIGIN, origins)
    for folder in state.glob("slice-*"):
        shutil.rmtree(folder)


if __name__ == "__main__":
    typer.run(main)

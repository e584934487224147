"""Stage: data. Writes a data set's problems, its demonstrations where it has any, and its card."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from pydantic import TypeAdapter

from rlvr import provenance, stages
from rlvr.config.identity import data_id
from rlvr.config.load import find_folder, read_data
from rlvr.config.schema.names import Data, Mixture, Published, Synthetic
from rlvr.data import card, golds, overlap, published, sources, tasks
from rlvr.data.rows import DataError
from rlvr.files import sha256
from rlvr.records import Problem, publish_records, read_records

BROUGHT = Path("data")


def make(
    data: Synthetic | Published | Mixture, out: Path, files: list[Path] | None = None, *, any_count: bool = False
) -> dict[str, Any]:
    """Make or fetch a set below `out`, and say what it is. Raises DataError where a file is missing or unfit.

    `any_count` takes a published set's file although it has another number of problems than is published.
    """
    origin = provenance.collect()
    content = _made(data, out, files, any_count)
    asked = golds.put_to_themselves(out / "problems.jsonl", data.verifier)
    return content | ({"golds": asked} if asked else {}) | {"provenance": provenance.at_once(origin)}


def _made(
    data: Synthetic | Published | Mixture, out: Path, files: list[Path] | None = None, any_count: bool = False
) -> dict[str, Any]:
    if isinstance(data, Synthetic):
        return _generate(data, out)
    if isinstance(data, Mixture):
        return _mix(data, out, any_count)
    found = sources.find(data, BROUGHT, files)
    return card.of_published(data, found, published.write(data, found.paths, out, BROUGHT, any_count=any_count))


def _generate(data: Synthetic, out: Path) -> dict[str, Any]:
    generator = np.random.Generator(np.random.PCG64(data.seed))
    task = tasks.load(data.task)
    problems = task.generate_problems(data.part, data.levels, data.problems, data.max_solutions, generator)
    shown = None
    if data.demonstrations is not None:
        shown = task.demonstrate(problems, data.demonstrations, data.random_share, generator)
        publish_records(out / "demonstrations.jsonl", shown)
    publish_records(out / "problems.jsonl", problems)
    return card.of_made(data, len(problems), None if shown is None else len(shown))


def _mix(data: Mixture, out: Path, any_count: bool) -> dict[str, Any]:
    """Each share of its set's order, which the mixture's seed draws set by set, then all in one order."""
    mixed: list[Problem] = []
    counts: dict[str, int] = {}
    for share in data.shares:
        name = share.data.name
        with TemporaryDirectory() as folder:
            try:
                _made(_with_about(share.data), Path(folder), any_count=any_count)
            except DataError as error:
                raise DataError(f"{name}: {error}") from error
            problems = read_records(Path(folder) / "problems.jsonl", Problem)
        order = np.random.default_rng([data.seed, *name.encode()]).permutation(len(problems))
        end = None if share.problems is None else share.skip + share.problems
        taken = [problems[i] for i in order[share.skip : end]]
        if (share.problems is not None and len(taken) < share.problems) or not taken:
            raise DataError(f"{name} has {len(problems)} problems, too few to skip {share.skip} and take the share")
        if any(problem.images for problem in taken):
            raise DataError(f"{name} has pictures, which a mixture does not carry along")
        mixed += [replace(problem, id=f"{name}/{problem.id}") for problem in taken]
        counts[name] = counts.get(name, 0) + len(taken)
    order = np.random.default_rng(data.seed).permutation(len(mixed))
    publish_records(out / "problems.jsonl", [mixed[i] for i in order])
    return card.of_mixture(data, counts)


def _with_about(data: Any) -> Any:
    """The set with what config/datasets.yaml says about it: a rule leaves it out, so that it makes nothing again."""
    folder = find_folder()
    if not isinstance(data, Published) or folder is None:
        return data
    known = read_data(folder, folder.parent).get(data.name)
    return data.model_copy(update={"about": known.about}) if isinstance(known, Published) else data


def prepared(data: Published, home: Path) -> dict[str, Any] | None:
    """The card of this very set, prepared in a folder before and whole there; None where it is not."""
    made, problems = card.read(home), home / "problems.jsonl"
    if made is None or not problems.is_file():
        return None
    return made if made["identity"] == data_id(data) and made["sha256"] == sha256(problems) else None


def overlap_with_siblings(out: Path) -> dict[str, Any]:
    """What a set shares with each published set that stands prepared beside its folder."""
    found = {}
    for other in sorted(path.parent for path in out.parent.glob("*/problems.jsonl")):
        content = card.read(other) if other.resolve() != out.resolve() else None
        if content is not None and content["spec"].get("task") == "published":
            found[content["name"]] = overlap.compare(out / "problems.jsonl", other / "problems.jsonl")
    return found


def main(
    spec: stages.Spec,
    out: Annotated[Path, typer.Option(help="Folder for problems.jsonl, demonstrations.jsonl and the card.")],
) -> None:
    """Make or fetch one data set: from files in data/<set>/, as prepared there by `rlvr data prepare`, or the hub."""
    data = _with_about(TypeAdapter(Data).validate_json(spec.read_bytes()))
    home = BROUGHT / data.name
    try:
        made = prepared(data, home) if isinstance(data, Published) and not sources.brought(data, home) else None
        if isinstance(data, Published) and made is not None:
            published.check_count(data, made["problems"])
            shutil.copytree(home, out, dirs_exist_ok=True)
        else:
            card.write(out, make(data, out))
    except DataError as error:
        sys.exit(f"{data.name}: {error}")


if __name__ == "__main__":
    typer.run(main)

"""Stage: data. Writes a data set's problems, its demonstrations if it has any, and its card."""

import hashlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from pydantic import TypeAdapter

from rlvr import provenance, stage_options
from rlvr.config.identity import data_id
from rlvr.config.load import find_folder, read_data
from rlvr.config.registries import TASKS
from rlvr.config.schema.models_and_data import Data, LocalData, Mixture, Published, Synthetic
from rlvr.data import card, golds, local, lookup, overlap, published, similarity, sources
from rlvr.data.rows import DataError
from rlvr.data.swapped import swapped
from rlvr.files import sha256, whole
from rlvr.records import Demonstration, Problem, publish_records, read_records

LOCAL = Path("data")
AnyData = Synthetic | Published | Mixture | LocalData


def make(data: AnyData, out: Path, files: list[Path] | None = None, *, any_count: bool = False) -> dict[str, Any]:
    """The card of a set that this makes or fetches into `out`. Raises DataError for a missing or unfit file.

    `any_count` accepts a file whose number of problems differs from the published one.
    """
    origin = provenance.collect()
    content = _content(data, out, files, any_count)
    if not isinstance(data, LocalData) and data.pictures != "own":
        problems = read_records(out / "problems.jsonl", Problem)
        publish_records(out / "problems.jsonl", swapped(problems, data.pictures))
    checked = golds.self_check(out / "problems.jsonl", data.verifier)
    return content | ({"golds": checked} if checked else {}) | {"provenance": provenance.at_once(origin)}


def _content(data: AnyData, out: Path, files: list[Path] | None = None, any_count: bool = False) -> dict[str, Any]:
    if isinstance(data, Synthetic):
        return _generate(data, out)
    if isinstance(data, LocalData):
        forms = local.write(data, out)
        return card.of_local(data, forms.total(), forms)
    if isinstance(data, Mixture):
        return _mix(data, out, any_count)
    source = sources.find(data, LOCAL, files)
    return card.of_published(data, source, published.write(data, source.paths, out, LOCAL, any_count=any_count))


def _generate(data: Synthetic, out: Path) -> dict[str, Any]:
    generator = np.random.Generator(np.random.PCG64(data.seed))
    task = TASKS.load(data.task)
    problems = _drawn(data, generator)
    if data.lookup is not None:
        known = _drawn(data.lookup, np.random.Generator(np.random.PCG64(data.lookup.seed)))
        places = lookup.ranks(problems, known, data.verifier)
        problems = [replace(problem, lookup=place) for problem, place in zip(problems, places, strict=True)]
    if data.question and task.question is not None:
        problems = [replace(problem, prompt=task.question(problem)) for problem in problems]
    if task.picture is not None:
        problems = [_with_picture(problem, task.picture(problem), out) for problem in problems]
    demonstrations = None
    if data.demonstrations is not None:
        demonstrations = task.demonstrate(problems, data.demonstrations, data.random_share, generator)
        publish_records(out / "demonstrations.jsonl", demonstrations)
    publish_records(out / "problems.jsonl", problems)
    return card.of_synthetic(data, len(problems), None if demonstrations is None else len(demonstrations))


def _drawn(data: Synthetic, generator: np.random.Generator) -> list[Problem]:
    def of_family(unseen: str | None, count: int) -> list[Problem]:
        return TASKS.load(data.task).generate_problems(
            data.part, data.levels, count, data.max_solutions, generator, data.max_chance, unseen
        )

    unseen = round(data.unseen_share * data.problems)
    if unseen == data.problems:
        return of_family(data.unseen, unseen)
    both = [*of_family(data.unseen, unseen), *of_family(None, data.problems - unseen)]
    return [both[i] for i in generator.permutation(len(both))]


def _with_picture(problem: Problem, picture: bytes, out: Path) -> Problem:
    """The problem with its picture in a file, whose name is a digest: the problem's record fixes its content."""
    name = f"images/{hashlib.sha256(picture).hexdigest()[:20]}.png"
    if not (out / name).exists():
        with whole(out / name) as partial:
            partial.write_bytes(picture)
    return replace(problem, images=(name,))


def _mix(data: Mixture, out: Path, any_count: bool) -> dict[str, Any]:
    """The card of a mixture: its seed shuffles each set, takes the shares, and shuffles all of them.

    Demonstrations and pictures come along with their problems.
    """
    mixed: list[Problem] = []
    shown: dict[str, Demonstration] = {}  # by problem
    counts: dict[str, int] = {}
    for share in data.shares:
        name = share.data.name
        with TemporaryDirectory() as folder:
            try:
                _content(_with_about(share.data), Path(folder), any_count=any_count)
            except DataError as error:
                raise DataError(f"{name}: {error}") from error
            problems = read_records(Path(folder) / "problems.jsonl", Problem)
            path = Path(folder) / "demonstrations.jsonl"
            demonstrations = read_records(path, Demonstration) if path.exists() else []
            if (Path(folder) / "images").is_dir():
                shutil.copytree(Path(folder) / "images", out / "images", dirs_exist_ok=True)
        order = np.random.default_rng([data.seed, *name.encode()]).permutation(len(problems))
        end = None if share.problems is None else share.skip + share.problems
        taken = [problems[i] for i in order[share.skip : end]]
        if (share.problems is not None and len(taken) < share.problems) or not taken:
            raise DataError(f"{name} has {len(problems)} problems, too few to skip {share.skip} and take the share")
        mixed += [replace(problem, id=f"{name}/{problem.id}") for problem in taken]
        shown |= {f"{name}/{d.id}": replace(d, id=f"{name}/{d.id}") for d in demonstrations}
        counts[name] = counts.get(name, 0) + len(taken)
    order = np.random.default_rng(data.seed).permutation(len(mixed))
    mixed = [mixed[i] for i in order]
    publish_records(out / "problems.jsonl", mixed)
    demonstrated = [shown[problem.id] for problem in mixed if problem.id in shown]
    if demonstrated:
        publish_records(out / "demonstrations.jsonl", demonstrated)
    return card.of_mixture(data, counts, len(demonstrated))


def _with_about(data: Any) -> Any:
    """The set with its `about` from config/datasets.yaml; rules leave it out, so that new wording reruns nothing."""
    folder = find_folder()
    if not isinstance(data, Published) or folder is None:
        return data
    entry = read_data(folder, folder.parent).get(data.name)
    return data.model_copy(update={"about": entry.about}) if isinstance(entry, Published) else data


def prepared(data: Published, home: Path) -> dict[str, Any] | None:
    """The card of this set, if an earlier run prepared it in the folder and it is whole; else None."""
    content, problems = card.read(home), home / "problems.jsonl"
    if content is None or not problems.is_file():
        return None
    return content if content["identity"] == data_id(data) and content["sha256"] == sha256(problems) else None


def overlap_with_siblings(out: Path) -> dict[str, Any]:
    """A set's overlap with each published set prepared beside its folder."""
    overlaps, texts = {}, similarity.texts(out / "problems.jsonl")
    for other in sorted(path.parent for path in out.parent.glob("*/problems.jsonl")):
        content = card.read(other) if other.resolve() != out.resolve() else None
        if content is not None and content["spec"].get("task") == "published":
            overlaps[content["name"]] = overlap.compare(texts, similarity.texts(other / "problems.jsonl"))
    return overlaps


def main(
    spec: stage_options.Spec,
    out: Annotated[Path, typer.Option(help="Folder for problems.jsonl, demonstrations.jsonl and the card.")],
    source: stage_options.Source = "",
) -> None:
    """Make one data set, or fetch it from data/<set>/ (original files or prepared ones), the hub or `source`."""
    data = _with_about(TypeAdapter(Data).validate_json(spec.read_bytes()))
    data = data.model_copy(update={"path": source}) if isinstance(data, LocalData) else data
    home = LOCAL / data.name
    try:
        content = prepared(data, home) if isinstance(data, Published) and not sources.brought(data, home) else None
        if isinstance(data, Published) and content is not None:
            published.check_count(data, content["problems"])
            shutil.copytree(home, out, dirs_exist_ok=True)
        else:
            card.write(out, make(data, out))
    except DataError as error:
        sys.exit(f"{data.name}: {error}")


if __name__ == "__main__":
    typer.run(main)

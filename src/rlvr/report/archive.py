"""What finished runs measured, without policies and completions: small files that continue an experiment elsewhere.

A long experiment is made in pieces, on several machines. `keep` writes a compressed archive of each finished policy:
its manifest, metrics and probes, the scores of its evaluations, the checksums of its base policy. `restore` puts
them into another results folder, where Snakemake takes these runs for done: tables, figures and claims are made from
them, as pages are, and no policy is. A figure of answers and `rlvr show` need completions, so runs that were made here.

    python -m rlvr.report.archive keep --papers NAMES archives/pretrained
    python -m rlvr.report.archive restore --papers NAMES archives/pretrained
"""

import io
import json
import tarfile
from pathlib import Path
from typing import Annotated

import typer

from rlvr.config.layers import ConfigError
from rlvr.config.order import items_asked_for, needs
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import publish, read_json, whole
from rlvr.planning.expansion import make_plan

SUFFIX = ".tar.xz"
BASE = "base.json"  # in an archive: the checksums of the base policy's weights

app = typer.Typer(add_completion=False, help=__doc__.partition("\n\n")[0] if __doc__ else None)


class NotRestored(Exception):
    """An archive is of another base policy, or what must be older than the runs is missing here."""


def keep(plan: Plan, paths: Paths, folder: Path) -> list[Path]:
    """The archives of the plan's finished policies that have other content than in `folder`, written there."""
    written = []
    for policy, evaluations in _policies(plan).items():
        start = paths.manifest(plan, plan.base_of(policy))
        content = {
            name: file.read_bytes() for name, file in _files(plan, paths, policy, evaluations).items() if file.is_file()
        }
        if not content or not Path(paths.manifest(plan, policy)).is_file():
            continue
        target, packed = folder / f"{policy}{SUFFIX}", _packed({**content, BASE: _checksums(start)})
        if not target.is_file() or target.read_bytes() != packed:
            with whole(target) as partial:
                partial.write_bytes(packed)
            written.append(target)
    return written


def restore(plan: Plan, paths: Paths, folder: Path) -> list[str]:
    """Puts the archived policies of the plan into the results folder, as made now, and returns their names.

    A run that is there stays as it is. One whose archive lacks a score that the plan asks for is left out, and a line
    says so: evaluating needs its policy, so it is made again. Raises NotRestored where its base policy or problems are
    not there, since they must be older than the run for Snakemake, or where the base policy is another one.
    """
    restored = []
    for policy, evaluations in _policies(plan).items():
        source, start = folder / f"{policy}{SUFFIX}", paths.manifest(plan, plan.base_of(policy))
        if not source.is_file() or (policy in plan.runs and Path(paths.manifest(plan, policy)).is_file()):
            continue
        with tarfile.open(source) as archive:
            content = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
        scores = [str(Path(paths.scores(policy, name)).relative_to(paths.results)) for name in evaluations]
        if policy in plan.runs and not content.keys() >= set(scores):
            print(f"{policy}: left out, to be made again: an evaluation of it is missing, which needs its policy")
            continue
        if not all(Path(needed).is_file() for needed in [start, *_problems(plan, paths, policy, evaluations)]):
            raise NotRestored(_first(plan, paths, folder))
        if content[BASE] != _checksums(start):
            raise NotRestored(f"{policy}: its base policy is not that of {start}; another machine or code made it")
        missing = {name: file for name, file in _files(plan, paths, policy, evaluations).items() if not file.is_file()}
        for name, file in missing.items():
            if name in content:
                publish(file, content[name])
        if missing.keys() & content.keys():
            restored.append(policy)
    return restored


def _first(plan: Plan, paths: Paths, folder: Path) -> str:
    """The base policies and problems that are missing, as the command that makes them."""
    archived = {name: made for name, made in _policies(plan).items() if (folder / f"{name}{SUFFIX}").is_file()}
    needed = [paths.manifest(plan, plan.base_of(policy)) for policy in archived]
    needed += [file for policy, made in archived.items() for file in _problems(plan, paths, policy, made)]
    missing = [file for file in dict.fromkeys(needed) if not Path(file).is_file()]
    return f"{missing[0]} is missing; first: snakemake --config scale={plan.scale} -- {' '.join(missing)}"


def _policies(plan: Plan) -> dict[str, list[str]]:
    """The policies that the plan's targets need, with the evaluations of each."""
    found: dict[str, dict[str, None]] = {}
    for paper, item in items_asked_for(plan):
        inputs = needs(plan, paper, item)
        for policy in inputs.policies:
            found.setdefault(policy, {})
        for policy, evaluation in inputs.evaluations:
            found[policy][evaluation] = None
    return {policy: list(evaluations) for policy, evaluations in found.items()}


def _files(plan: Plan, paths: Paths, policy: str, evaluations: list[str]) -> dict[str, Path]:
    """What is archived of a policy, by its name there. A base policy itself is made anew, its scores are kept."""
    files = [paths.manifest(plan, policy), *paths.rows(policy)] if policy in plan.runs else []
    for evaluation in evaluations:
        scores = paths.scores(policy, evaluation)
        files += [scores, str(Path(scores).with_name("origin.json")), paths.diversity(policy, evaluation)]
    return {str(Path(file).relative_to(paths.results)): Path(file) for file in files}


def _problems(plan: Plan, paths: Paths, policy: str, evaluations: list[str]) -> list[str]:
    run = plan.runs.get(policy)
    sets = [plan.evaluations[name].data for name in evaluations] + ([run.data, run.validation] if run else [])
    return list(dict.fromkeys(map(paths.problems, sets)))


def _checksums(manifest: str) -> bytes:
    files = read_json(manifest).get("files", {})
    return json.dumps({name: files[name] for name in sorted(files) if name.endswith(".safetensors")}).encode()


def _packed(content: dict[str, bytes]) -> bytes:
    """The same bytes for the same content."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(content):
            member = tarfile.TarInfo(name)
            member.size = len(content[name])
            archive.addfile(member, io.BytesIO(content[name]))
    return made.getvalue()


Scale = Annotated[str, typer.Option(help="The scale of the runs.")]
Papers = Annotated[str, typer.Option(help="Papers, separated by commas.")]
Results = Annotated[Path, typer.Option(help="The results folder.")]
Folder = Annotated[Path, typer.Argument(help="The folder of the archives.", show_default=False)]


def _plan(scale: str, papers: str, results: Path) -> tuple[Plan, Paths]:
    try:
        return make_plan(Path(), scale, papers.split(",")), Paths(str(results), scale)
    except ConfigError as error:
        raise SystemExit(str(error)) from error


@app.command("keep")
def keep_command(
    folder: Folder, papers: Papers, scale: Scale = "pretrained", results: Results = Path("results")
) -> None:
    """Write the archive of each finished run."""
    written = keep(*_plan(scale, papers, results), folder)
    print(f"{folder}: {len(written)} archives written, {len(list(folder.glob('*' + SUFFIX)))} in all")


@app.command("restore")
def restore_command(
    folder: Folder, papers: Papers, scale: Scale = "pretrained", results: Results = Path("results")
) -> None:
    """Put archived runs into a results folder."""
    plan, paths = _plan(scale, papers, results)
    for note in plan.notes:
        print(f"on this machine: {note}")
    try:
        restored = restore(plan, paths, folder)
    except NotRestored as error:
        raise SystemExit(str(error)) from error
    print(f"{results}: {len(restored)} policies restored")
    others = sorted({file.name.removesuffix(SUFFIX) for file in folder.glob("*" + SUFFIX)} - set(_policies(plan)))
    if others:
        of_none = f"{len(others)} archives of no policy of {papers} at {scale}, as set here"
        print(f"left: {others[0]}, the first of {of_none}")


if __name__ == "__main__":
    app()

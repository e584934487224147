"""`rlvr state`: what runs, SFTs and evaluations keep to go on from; its space given back, or the work done again."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.lines import fail
from rlvr.files import RecordError, read_json
from rlvr.training import backends
from rlvr.training.lease import LEASE, MARK, holder, lease
from rlvr.words import nearest
from rlvr.workflow import locks

app = typer.Typer(no_args_is_help=True, help="List, free or discard what work keeps so that a kill loses little.")

FOLDERS = {"run": "runs/*", "sft": "sft/*", "evaluation": "evaluations/*/*"}
OUTPUTS = {
    "run": ("manifest.json", "metrics.jsonl", "probe.jsonl"),
    "sft": ("manifest.json", "metrics.jsonl"),
    "evaluation": ("completions.jsonl.gz", "tokens.jsonl.gz", "origin.json"),
}
Results = Annotated[Path, typer.Option(help="The results folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@dataclass(frozen=True)
class Work:
    """A run, an SFT or an evaluation, by its folder."""

    kind: str
    name: str
    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def kept(self) -> list[Path]:
        """Files to go on from. Leases are none: they are empty but for a name, and stay."""
        return [path for path in self.state.rglob("*") if path.is_file() and path.name != LEASE]

    def outputs(self) -> list[Path]:
        """All that was made: what lies in the folder but the state."""
        return sorted(path for path in self.folder.iterdir() if path != self.state) if self.folder.is_dir() else []

    def finished(self) -> bool:
        """Whether nothing is lost without the state: every output is there, a policy's files too."""
        if not all((self.folder / name).is_file() for name in OUTPUTS[self.kind]):
            return False
        if self.kind == "evaluation":
            return True
        manifest = self.manifest()
        policy = self.folder / manifest.get("policy", "policy")
        return bool(manifest.get("files")) and all((policy / name).is_file() for name in manifest["files"])

    def manifest(self) -> dict[str, Any]:
        """Empty where there is none that can be read."""
        try:
            return read_json(self.folder / "manifest.json")
        except (OSError, RecordError):
            return {}

    def holder(self) -> str | None:
        return next(filter(None, map(holder, self._leased())), None)

    def _leased(self) -> list[Path]:
        """The folders that a process holds while it works: the state, or slices of an evaluation."""
        return [self.state, *sorted(self.state.glob("slice-*"))] if self.state.is_dir() else []

    def at(self) -> str:
        """How far the state is."""
        if self.kind == "evaluation":
            return f"{len(list(self.state.rglob('part-*')))} parts"
        return f"step {max(backends.steps(self.state), default=0)}"

    @contextmanager
    def held(self) -> Iterator[list[Path]]:
        """Hold it as a process at work does; yields the folders that are held."""
        folders = self._leased()
        with ExitStack() as leases:
            for folder in folders:
                leases.enter_context(lease(folder))
            yield folders

    def forget(self, held: list[Path]) -> None:
        """Remove what the held folders keep. Leases stay, since a process may wait for one, and so do other slices."""
        for folder in held:
            for path in folder.iterdir():
                if not path.match("slice-*"):
                    _remove(path)


def _remove(path: Path) -> None:
    if path.name == LEASE:
        return
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


# ---- commands ------------------------------------------------------------------------------------


@app.command("list")
def show(results: Results = Path("results")) -> None:
    """What has state: finished or not, how far, how large, and who is at work on it."""
    from tabulate import tabulate

    rows = []
    for work in _all(results).values():
        if (size := _size(work.kept())) or work.holder():
            done = "finished" if work.finished() else "unfinished"
            rows.append([work.kind, work.name, done, work.at(), f"{size:,}", work.holder() or ""])
    headers = ["kind", "name", "", "state at", "bytes", "held by"]
    typer.echo(tabulate(rows, headers=headers, disable_numparse=True) if rows else f"{results}: no state")


@app.command()
def free(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names from `list`; default: all finished work."),
    ] = None,
    dry_run: DryRun = False,
    results: Results = Path("results"),
) -> None:
    """Remove the state of finished work. Its outputs stay, but can then no longer be published again.

    A finished run is published again from its last checkpoint, where an output was lost or Snakemake is told to
    (--forcerun). Without its state it is trained anew, and an evaluation sampled anew.
    """
    every = _all(results)
    chosen = _chosen("state free", every, names) if names else [w for w in every.values() if w.finished() and w.kept()]
    for work in chosen:
        if not work.finished():
            fail(
                "state free",
                f"{work.name} is not finished: its state in {work.state} is all that there is of it; "
                f"`rlvr state again` discards it",
            )
    if names:
        _refuse_held("state free", chosen)
    freed = 0
    for work in chosen:
        if held := work.holder():
            typer.echo(f"{work.name}: left as it is, since a process is at work on it ({held})")
            continue
        size = _size(work.kept())
        if not dry_run:
            with work.held() as held_folders:
                if not work.finished():  # since the first look a Snakemake has begun to make it again
                    typer.echo(f"{work.name}: left as it is, since its outputs have gone")
                    continue
                work.forget(held_folders)
        freed += size
        typer.echo(f"{work.name}: {size:,} bytes")
    typer.echo(f"{'would free' if dry_run else 'freed'} {freed:,} bytes")
    if freed:
        typer.echo("Without its state, finished work cannot be published again: a lost output is made from step 0.")


@app.command()
def again(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Runs, SFTs or evaluations.")],
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Also what was made from it and has no state.")] = False,
    results: Results = Path("results"),
) -> None:
    """Remove outputs and state, so that the next `snakemake` makes the work from its beginning.

    The outputs of what was made from it go too, since Snakemake makes nothing again whose results are all there. The
    state of dependent work stays: where its inputs come out the same, it is published from there. Without its state it
    would be made from its beginning, which takes --force.
    """
    every = _all(results)
    chosen = _chosen("state again", every, names)
    dependent = [work for work in _dependents(every, chosen) if work not in chosen]
    _refuse_held("state again", [*chosen, *dependent])
    _refuse_living("state again", results)
    analyses = _analyses(
        results,
        {work.name for work in [*chosen, *dependent] if work.kind != "evaluation"}
        | {work.name.split("/")[0] for work in chosen if work.kind == "evaluation"},
    )
    for work in chosen:
        typer.echo(f"{work.name}: outputs and state ({work.at()}, {_size(work.kept()):,} bytes)")
    made = [work for work in dependent if work.outputs()]
    lost = [work for work in made if not work.kept()]
    for work in made:
        typer.echo(f"  made from it: {work.kind} {work.name}{', made from its beginning too' if work in lost else ''}")
    for path in analyses:
        typer.echo(f"  made from it: {path}")
    if lost and not (dry_run or force):
        fail(
            "state again",
            f"{lost[0].name} was made from it and has no state to be published from; --force removes it too",
        )
    if not dry_run:
        with ExitStack() as leases:
            held = {work: leases.enter_context(work.held()) for work in [*chosen, *dependent]}
            for path in [*analyses, *(path for work in [*dependent, *chosen] for path in work.outputs())]:
                _remove(path)
            for work in chosen:
                work.forget(held[work])
    typer.echo(("would be " if dry_run else "") + "removed; the next `snakemake` makes them again")


# ---- what there is, and what is made from what ---------------------------------------------------


def _all(results: Path) -> dict[str, Work]:
    """Work by its name: a run's id, an SFT's, <policy>/<evaluation>."""
    found = {}
    for kind, pattern in FOLDERS.items():
        for folder in sorted(path for path in results.glob(pattern) if path.is_dir()):
            name = str(folder.relative_to(results / pattern.split("/")[0]))
            found[name] = Work(kind, name, folder)
    return found


def _chosen(command: str, every: dict[str, Work], names: list[str]) -> list[Work]:
    """Works by name, without a folder's name before or a slash behind."""
    plain = {f"{FOLDERS[work.kind].split('/')[0]}/{name}": name for name, work in every.items()}
    found = []
    for given in names:
        name = given.rstrip("/")
        name = plain.get(name, name)
        if name not in every:
            close = nearest(name, every)
            hint = close if close.startswith("; did") else "; `rlvr state list` shows those that have state"
            fail(command, f"{given}: {', '.join(FOLDERS)}: none has this name{hint}")
        found.append(every[name])
    return list(dict.fromkeys(found))


def _refuse_held(command: str, works: Iterable[Work]) -> None:
    for work in works:
        if held := work.holder():
            fail(command, f"{work.name}: a process is at work on it ({held}); stop it first. Nothing was removed")


def _refuse_living(command: str, results: Path) -> None:
    """Stages that hold no lease, such as grading, read what `again` removes."""
    for owner in locks.living(results.absolute().parent / ".snakemake"):
        fail(command, f"{owner} is at work here; stop it first. Nothing was removed")


def _dependents(every: dict[str, Work], chosen: list[Work]) -> list[Work]:
    """Runs that start from an SFT, and evaluations of either."""
    found = []
    for work in chosen:
        runs = [other for other in every.values() if work.kind == "sft" and _starts_from(other, work)]
        policies = {work.name, *(run.name for run in runs)}
        found += [*runs, *(w for w in every.values() if w.kind == "evaluation" and w.name.split("/")[0] in policies)]
    return list(dict.fromkeys(found))


def _starts_from(run: Work, sft: Work) -> bool:
    """By the run's specification, and where it is unfinished by the mark of its checkpoints."""
    base = sft.manifest()
    if run.kind != "run" or not base:
        return False
    if made := run.manifest():
        return made.get("spec", {}).get("base") == base.get("spec")
    try:
        noted = read_json(run.state / MARK).get("base")
    except (OSError, RecordError):
        return False
    return noted == str(base["files"]) or (isinstance(noted, dict) and noted.get("files") == base["files"])


def _analyses(results: Path, policies: set[str]) -> list[Path]:
    """Statistics, tables, figures, claims and pages in which a policy is."""

    named = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, sorted(policies)))})(?![\w.-])")

    def mention(path: Path) -> bool:
        return bool(named.search(path.read_text(errors="replace")))

    found = [path for path in sorted(results.glob("papers/**/arms/*.csv")) if mention(path)]
    for paper in sorted(path.parent for path in results.glob("papers/**/statistics")):
        if any(mention(path) for path in paper.glob("statistics/*.csv")):
            found += [path for kind in ("statistics", "tables", "figures") for path in sorted(paper.glob(f"{kind}/*"))]
    contrasts = [path for path in sorted(results.glob("claims/*/*-contrasts.csv")) if mention(path)]
    found += [*contrasts, *(path.with_name(path.name.replace("-contrasts", "")) for path in contrasts)]
    found += [path for path in sorted(results.glob("claims/claims.*")) if contrasts]
    return [*found, *(path for path in sorted(results.glob("report/**/*.html")) if mention(path))]


def _size(paths: Iterable[Path]) -> int:
    return sum(os.lstat(path).st_size for path in paths)

"""`rlvr state`: lists and frees the saved state of runs, SFTs and evaluations, or discards work."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.lines import fail
from rlvr.files import RecordError, read_json, remove
from rlvr.show.lookup import folders
from rlvr.stage_options import Results
from rlvr.suggest import named
from rlvr.training import backends, prune_checkpoints
from rlvr.training.lock_file import LEASE, MARK, holder, lease
from rlvr.training.retry_guard import FAILURES, FIRST_LOG
from rlvr.workflow import locks

app = typer.Typer(no_args_is_help=True, help="List, free or discard the state that lets killed work resume.")

FOLDERS = {"run": "runs/*", "sft": "sft/*", "evaluation": "evaluations/*/*"}
OUTPUTS = {
    "run": ("manifest.json", "metrics.jsonl", "probe.jsonl"),
    "sft": ("manifest.json", "metrics.jsonl"),
    "evaluation": ("completions.jsonl.gz", "tokens.jsonl.gz", "origin.json"),
}
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the actions, but do nothing.")]


@dataclass(frozen=True)
class Work:
    """A run, an SFT or an evaluation, by its folder."""

    kind: str
    name: str
    folder: Path

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def saved_files(self) -> list[Path]:
        """The files for resuming, without leases, which stay."""
        return [path for path in self.state.rglob("*") if path.is_file() and path.name != LEASE]

    def outputs(self) -> list[Path]:
        """All outputs: the content of the folder without the state."""
        return sorted(path for path in self.folder.iterdir() if path != self.state) if self.folder.is_dir() else []

    def finished(self) -> bool:
        """Whether all outputs exist, including a policy's files, so that the state is dispensable."""
        if not all((self.folder / name).is_file() for name in OUTPUTS[self.kind]):
            return False
        if self.kind == "evaluation":
            return True
        manifest = self.manifest()
        policy = self.folder / manifest.get("policy", "policy")
        return bool(manifest.get("files")) and all((policy / name).is_file() for name in manifest["files"])

    def manifest(self) -> dict[str, Any]:
        """The manifest; {} where it is missing or unreadable."""
        try:
            return read_json(self.folder / "manifest.json")
        except (OSError, RecordError):
            return {}

    def holder(self) -> str | None:
        return next(filter(None, map(holder, self._leased())), None)

    def _leased(self) -> list[Path]:
        """The folders that a working process holds: the state, or slices of an evaluation."""
        return [self.state, *sorted(self.state.glob("slice-*"))] if self.state.is_dir() else []

    def at(self) -> str:
        """The progress of the state, in words."""
        if self.kind == "evaluation":
            return f"{len(list(self.state.rglob('part-*')))} parts"
        return f"step {max(backends.steps(self.state), default=0)}"

    @contextmanager
    def held(self) -> Iterator[list[Path]]:
        """The folders, leased as by a working process while the context lasts."""
        folders = self._leased()
        with ExitStack() as leases:
            for folder in folders:
                leases.enter_context(lease(folder))
            yield folders

    def forget(self, held: list[Path]) -> None:
        """Removes the content of held folders. Leases stay, since a process may wait for one; so do other slices."""
        for folder in held:
            for path in folder.iterdir():
                if path.name != LEASE and not path.match("slice-*"):
                    remove(path)


# ---- commands ------------------------------------------------------------------------------------


@app.command("list")
def show(results: Results = Path("results")) -> None:
    """What has state: finished or not, how far, how large, what publication freed, and who is at work on it.

    Example: rlvr state list
    """
    from tabulate import tabulate

    rows = []
    for work in _all(results).values():
        size, at_work = _size(work.saved_files()), work.holder() or ""
        if size or at_work:
            done = "finished" if work.finished() else "unfinished"
            freed = prune_checkpoints.bytes_freed(work.state)
            numbers = (f"{size:,}", f"{freed:,}" if freed else "")
            rows.append([work.kind, work.name, done, work.at(), *numbers, at_work])
    headers = ["kind", "name", "", "state at", "bytes", "freed", "held by"]
    typer.echo(tabulate(rows, headers=headers, disable_numparse=True) if rows else f"{results}: no state")


@app.command()
def free(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names from `list`, or beginnings; default: all finished work."),
    ] = None,
    dry_run: DryRun = False,
    results: Results = Path("results"),
) -> None:
    """Remove the state of finished work. Its outputs stay, but cannot be published again.

    If an output is lost, or with --forcerun, Snakemake publishes a finished run again from its last checkpoint. Without
    its state the run is trained again, and an evaluation sampled again.

    Example: rlvr state free RUN
    """
    all_work = _all(results)
    selected = [work for work in all_work.values() if work.finished() and work.saved_files()]
    if names:
        selected = _chosen(all_work, names)
        for work in selected:
            if not work.finished():
                only = f"its state in {work.state} is all that there is of it; `rlvr state again` discards it"
                fail(f"{work.name} is not finished: {only}")
        _refuse_held(selected)
    freed = 0
    for work in selected:
        if process := work.holder():
            typer.echo(f"{work.name}: left as it is, since a process is at work on it ({process})")
            continue
        size = _size(work.saved_files())
        if not dry_run:
            with work.held() as held_folders:
                if not work.finished():  # a Snakemake has started to redo it
                    typer.echo(f"{work.name}: left as it is, since its outputs have gone")
                    continue
                work.forget(held_folders)
        freed += size
        typer.echo(f"{work.name}: {size:,} bytes")
    typer.echo(f"{'would free' if dry_run else 'freed'} {freed:,} bytes")
    if freed:
        typer.echo("Without its state, finished work cannot be published again: a lost output is made from step 0.")


@app.command()
def retry(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Runs or SFTs, or beginnings of their names.")],
    results: Results = Path("results"),
) -> None:
    """Allow new attempts of work that failed three times with the same error; its checkpoints stay.

    Example: rlvr state retry RUN
    """
    for work in _chosen(_all(results), names):
        found = (work.state / FAILURES).exists()
        remove(work.state / FAILURES)
        remove(work.folder / FIRST_LOG)
        typer.echo(f"{work.name}: {'its failures are forgotten' if found else 'no failure is noted'}")


@app.command()
def again(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Runs, SFTs or evaluations, or beginnings of their names.")
    ],
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Also remove dependent work without state.")] = False,
    results: Results = Path("results"),
) -> None:
    """Remove outputs and state, so that the next `snakemake` redoes the work from its beginning.

    This also removes the outputs of dependent work, since Snakemake redoes only missing results. The state of dependent
    work stays: if its inputs come out equal, it is published from there. Dependent work without state would start from
    its beginning, which needs --force.

    Example: rlvr state again RUN --dry-run
    """
    all_work = _all(results)
    selected = _chosen(all_work, names)
    dependent = [work for work in _dependents(all_work, selected) if work not in selected]
    _refuse_held([*selected, *dependent])
    # Stages without a lease, such as grading, read files that this command removes.
    for owner in locks.living(results.absolute().parent / ".snakemake"):
        fail(f"{owner} is at work here; stop it first. Nothing was removed")
    policies = {work.name.split("/")[0] for work in selected}
    policies |= {work.name for work in dependent if work.kind != "evaluation"}
    analyses = _analyses(results, policies)
    for work in selected:
        typer.echo(f"{work.name}: outputs and state ({work.at()}, {_size(work.saved_files()):,} bytes)")
    existing = [work for work in dependent if work.outputs()]
    lost = [work for work in existing if not work.saved_files()]
    for work in existing:
        typer.echo(f"  made from it: {work.kind} {work.name}{', made from its beginning too' if work in lost else ''}")
    for path in analyses:
        typer.echo(f"  made from it: {path}")
    if lost and not (dry_run or force):
        why = "was made from it and has no state to be published from"
        fail(f"{lost[0].name} {why}; --force removes it too")
    if not dry_run:
        with ExitStack() as leases:
            held = {work: leases.enter_context(work.held()) for work in [*selected, *dependent]}
            for path in [*analyses, *(path for work in [*dependent, *selected] for path in work.outputs())]:
                remove(path)
            for work in selected:
                work.forget(held[work])
    typer.echo(("would be " if dry_run else "") + "removed; the next `snakemake` makes them again")


# ---- work and its dependents -----------------------------------------------------------------------


def _all(results: Path) -> dict[str, Work]:
    """All work by name: the id of a run or SFT, or <policy>/<evaluation>."""
    found = ((kind, folders(results, pattern)) for kind, pattern in FOLDERS.items())
    return {name: Work(kind, name, folder) for kind, of_kind in found for name, folder in of_kind.items()}


def _chosen(all_work: dict[str, Work], names: list[str]) -> list[Work]:
    """Work by name or a beginning that no other has; with a folder's name before it, of that folder."""
    works, kinds = [], ", ".join(f"{kind}s" for kind in FOLDERS)
    kind_of = {pattern.split("/")[0]: kind for kind, pattern in FOLDERS.items()}
    for given in names:
        folder, slash, name = given.partition("/")
        kind = kind_of.get(folder) if slash else None
        valid = [name for name, work in all_work.items() if kind in (None, work.kind)]
        works.append(all_work[named(name if kind else given, valid, f"the {kinds}", "rlvr state list")])
    return list(dict.fromkeys(works))


def _refuse_held(works: Iterable[Work]) -> None:
    for work in works:
        if held := work.holder():
            fail(f"{work.name}: a process is at work on it ({held}); stop it first. Nothing was removed")


def _dependents(all_work: dict[str, Work], selected: list[Work]) -> list[Work]:
    """The runs that start from an SFT, and the evaluations of both."""
    works = []
    for work in selected:
        runs = [other for other in all_work.values() if work.kind == "sft" and _starts_from(other, work)]
        policies = {work.name, *(run.name for run in runs)}
        works += [*runs, *(w for w in all_work.values() if w.kind == "evaluation" and w.name.split("/")[0] in policies)]
    return list(dict.fromkeys(works))


def _starts_from(run: Work, sft: Work) -> bool:
    """Whether a run starts from an SFT, by its specification, or while unfinished by the mark of its checkpoints."""
    base = sft.manifest()
    if run.kind != "run" or not base:
        return False
    if manifest := run.manifest():
        return manifest.get("spec", {}).get("base") == base.get("spec")
    try:
        mark = read_json(run.state / MARK).get("base")
    except (OSError, RecordError):
        return False
    return mark == str(base["files"]) or (isinstance(mark, dict) and mark.get("files") == base["files"])


def _analyses(results: Path, policies: set[str]) -> list[Path]:
    """The statistics, tables, figures, claims and pages that show one of the policies."""
    pattern = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, sorted(policies)))})(?![\w.-])")

    def mention(path: Path) -> bool:
        return bool(pattern.search(path.read_text(errors="replace")))

    paths = [path for path in sorted(results.glob("papers/**/arms/*.csv")) if mention(path)]
    for paper in sorted(path.parent for path in results.glob("papers/**/statistics")):
        if any(mention(path) for path in paper.glob("statistics/*.csv")):
            paths += [path for kind in ("statistics", "tables", "figures") for path in sorted(paper.glob(f"{kind}/*"))]
    contrasts = [path for path in sorted(results.glob("claims/*/*-contrasts.csv")) if mention(path)]
    paths += [*contrasts, *(path.with_name(path.name.replace("-contrasts", "")) for path in contrasts)]
    paths += [path for path in sorted(results.glob("claims/claims.*")) if contrasts]
    return [*paths, *(path for path in sorted(results.glob("report/**/*.html")) if mention(path))]


def _size(paths: Iterable[Path]) -> int:
    return sum(os.lstat(path).st_size for path in paths)

"""A view of what runs, by rich."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from rlvr.show.sparks import blocks
from rlvr.watch.dag import Dag, logs, running
from rlvr.watch.runs import Run, WatchedRuns
from rlvr.workflow.locks import Owner

SPARK, LEAST = 20, 3  # characters of a curve, at most and at least
VALUE = 5  # of the number before it
SHOWN = 20  # runs of a status at most
OLD = 600.0  # seconds without a line after which the age of a log is said


class Watched:
    """A results folder, and the folder .snakemake beside it or here; each `view` reads what is new."""

    def __init__(self, results: Path):
        self._folders = [folder / ".snakemake" for folder in (results.absolute().parent, Path.cwd())]
        self.runs = WatchedRuns(results)
        self._dags: dict[Path, Dag] = {}

    def view(self) -> RenderableType:
        """The jobs of each Snakemake, then running, silent and stopped runs."""
        self.runs.read()
        return Group(*self._jobs(), *_runs(self.runs))

    def line(self) -> str:
        """The same on one line, for a pipe: the jobs, and the run that has the least time left; empty before a job."""
        self.runs.read()
        jobs = [_jobs_in_words(dag) + _failed(dag) for dag in self._at_work().values()]
        at_work = self.runs.by_status()["running"]
        runs = [
            f"{run.head.get('method', run.name)}, seed {run.head.get('seed')}: {_figures(run)}" for run in at_work[:1]
        ]
        return "; ".join([*jobs, *runs]) if jobs else ""

    @property
    def snakemake(self) -> Path:
        """The folder of Snakemake's notes; its first command makes it."""
        return next((folder for folder in self._folders if folder.is_dir()), self._folders[0])

    def _at_work(self) -> dict[Owner, Dag]:
        found = {}
        for owner, log in running(self.snakemake).items():
            dag = self._dags.setdefault(log, Dag(log))
            dag.read()
            if dag.total and not dag.ended:
                found[owner] = dag
        return found

    def _jobs(self) -> Iterator[RenderableType]:
        at_work = self._at_work()
        for owner, dag in at_work.items():
            yield _heading(owner, dag)
            yield _table(dag)
        if not at_work:
            yield _idle(self.snakemake)


def _runs(runs: WatchedRuns) -> Iterator[RenderableType]:
    groups, now = runs.by_status(), time.time()
    at_work = [*groups["running"], *groups["starting"]]
    if at_work:
        yield _running(at_work)
    else:
        yield Text(f"No RL run is at work in {runs.results}; {len(runs.finished)} are finished.")
    alarmed = [run for run in at_work if run.alarms]
    for run in alarmed[:SHOWN]:
        words = f"{run.name}, {_progress(run)}: {'; '.join(run.alarms.values())}"
        yield Text.assemble(("ALARM    ", "bold red"), words, overflow="fold")
    for run in groups["silent"][:SHOWN]:
        words = f"{_progress(run)}: no new step for {duration(now - run.progress)}, held by {run.holder}"
        yield Text.assemble(("SILENT   ", "bold red"), f"{run.name}, {words}", overflow="fold")
    for run in groups["stopped"][:SHOWN]:
        why = f"; last error: {run.error}" if run.error else ""
        words = f"{_progress(run)}: no process is at work on it, last sign {duration(now - run.progress)} ago{why}"
        yield Text.assemble(("STOPPED  ", "bold yellow"), f"{run.name}, {words}", overflow="fold")
    hidden = sum(max(0, len(several) - SHOWN) for several in (at_work, alarmed, groups["silent"], groups["stopped"]))
    if hidden:
        yield Text(f"... and {hidden} more", style="dim")


def _idle(folder: Path) -> Text:
    """That no Snakemake is at work, and how far the last one came."""
    for log in reversed(logs(folder)):
        dag = Dag(log)
        dag.read()
        if dag.total:
            done, steps = dag.steps
            return Text(f"No Snakemake is at work here; the last, of {dag.began:%F %R}, did {done} of {steps} jobs.")
    return Text(f"No Snakemake is at work in {folder.parent}.")


def _heading(owner: Owner, dag: Dag) -> Text:
    silence = time.time() - dag.log.stat().st_mtime
    quiet = f"; its log has no new line for {duration(silence)}" if silence > OLD else ""
    who = f"Snakemake {owner.process} on {owner.host}: "
    return Text.assemble((who, "bold"), _jobs_in_words(dag), (_failed(dag), "bold red"), (quiet, "yellow"))


def _jobs_in_words(dag: Dag) -> str:
    done, steps = dag.steps
    share = f" ({100 * done / steps:.0f} %)" if steps else ""
    since = time.time() - dag.began.timestamp()
    left = dag.left(time.time())
    until = f", {'at least' if left[1] else 'about'} {duration(left[0])} left" if left and left[0] >= 1 else ""
    return f"{done} of {steps} jobs done{share}, {len(dag.started)} started, for {duration(since)}{until}"


def _failed(dag: Dag) -> str:
    return f", {len(dag.failed)} failed" if dag.failed else ""


def _table(dag: Dag) -> Table:
    """A row per rule that is not done; `started` is running, or waiting in a cluster's queue."""
    numbers = (Column(name, justify="right") for name in ("done", "started", "failed", "left"))
    table = Table("rule", *numbers, box=box.SIMPLE_HEAD, pad_edge=False)
    whole = []
    for rule in dag.total:
        counts = dag.count(rule)
        if any(counts[1:]):
            table.add_row(rule, *(str(count or "") for count in counts))
        else:
            whole.append(f"{rule} {counts[0]}")
    table.caption = f"all done: {', '.join(whole)}" if whole else None
    table.caption_justify = "left"
    return table


def _running(runs: list[Run]) -> Table:
    names = (Column(name, overflow="fold") for name in ("method", "model"))
    numbers = (Column(name, justify="right", no_wrap=True) for name in ("rate", "seed", "step", "ETA"))
    columns = (*names, *numbers, "pass rate", "entropy")
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    now = time.time()
    for run in runs[:SHOWN]:
        eta = run.eta(now)
        table.add_row(
            str(run.head.get("method", run.name)),
            str(run.head.get("model", "")),
            f"{run.head['learning_rate']:g}" if "learning_rate" in run.head else "",
            str(run.head.get("seed", "")),
            f"{run.step}/{run.steps or '?'}",
            "starting" if not run.step else "" if eta is None else duration(eta),
            LiveCurve([row.pass_rate for row in run.rows]),
            LiveCurve([row.entropy for row in run.rows]),
        )
    return table


@dataclass(frozen=True)
class LiveCurve:
    """A cell with a curve as wide as its column, so that on a narrow screen the curves give way first."""

    values: list[float | None]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(VALUE, max(VALUE, len(curve(self.values))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(curve(self.values, options.max_width - VALUE - 1), no_wrap=True, overflow="crop")


def curve(values: list[float | None], width: int = SPARK) -> str:
    """The last value, and all as blocks from the lowest to the highest, if there is room: `0.500 ▁▄█`."""
    there = [value for value in values if value is not None]
    if not there:
        return ""
    last = f"{there[-1]:.3f}"
    return f"{last} {blocks(there, min(there), max(there), min(width, SPARK))}" if width >= LEAST else last


def _progress(run: Run) -> str:
    saved = "" if run.saved == run.step else f", saved at {run.saved}" if run.saved else ", no checkpoint"
    return f"step {run.step} of {run.steps or '?'}{saved}"


def _figures(run: Run) -> str:
    """Its step, and the figures of its last row."""
    last = run.rows[-1] if run.rows else None
    figures = {"pass rate": last.pass_rate, "entropy": last.entropy} if last else {}
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if value is not None]
    return ", ".join([f"step {run.step} of {run.steps or '?'}", *shown])


def duration(seconds: float) -> str:
    """A duration in its two largest units: `45 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    units, left, words = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)), round(seconds), []
    first = next((i for i, (_, size) in enumerate(units) if left >= size), len(units) - 1)
    for name, size in units[first : first + 2]:
        count, left = divmod(left, size)
        if count or not words:
            words.append(f"{count} {name}")
    return " ".join(words)

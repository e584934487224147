"""RL runs that are not published yet: how far they are, and whether a process is at work on them."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rlvr.files import RecordError, read_json
from rlvr.training import backends, streamed_metrics
from rlvr.training.alarms import FIGURES, alarms
from rlvr.training.lock_file import LEASE, holder
from rlvr.training.retry_guard import failures_of

SILENT = 300.0  # seconds without a new step, or five steps' time if that is longer, after which a run counts as silent
LAST = 20  # steps whose mean time is that of the steps to come
Status = Literal["starting", "running", "silent", "stopped"]


@dataclass(frozen=True)
class Step:
    """What a view needs of a row of metrics. `at`: Unix time of the row; None if an earlier process took the step."""

    step: int
    at: float | None
    seconds: float
    pass_rate: float | None
    entropy: float | None


@dataclass
class GrowingFile:
    """A file of JSON lines to which another process adds; it may begin the file anew."""

    path: Path
    _inode: int = 0
    _offset: int = 0

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """The rows that are new since the last time, and whether the earlier ones are gone."""
        try:
            with open(self.path, "rb") as file:
                inode = self.path.stat().st_ino
                anew, self._inode = inode != self._inode, inode
                file.seek(0 if anew else self._offset)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            self._inode = self._offset = 0
            return [], True
        whole = [line for line in lines if line.endswith(b"\n")]  # the last one may be half written
        self._offset = (0 if anew else self._offset) + sum(map(len, whole))
        return [json.loads(line) for line in whole], anew


@dataclass
class Run:
    """An unfinished run, by its folder."""

    folder: Path
    head: dict[str, Any] = field(default_factory=dict)
    rows: list[Step] = field(default_factory=list)
    saved: int = 0  # the newest checkpoint's step
    holder: str | None = None  # host, process and job
    progress: float = 0.0  # Unix time of the last sign of work
    error: str | None = None  # of the last failed attempt
    alarms: dict[str, str] = field(default_factory=dict)  # a sentence by name, of rlvr.training.alarms
    _figures: list[dict[str, Any]] = field(default_factory=list)  # what alarms need of the rows
    _probes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        live = self.state / streamed_metrics.FOLDER
        self._metrics_file, self._probe_file = (GrowingFile(live / f"{kind}.jsonl") for kind in ("metrics", "probe"))

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def step(self) -> int:
        return self.rows[-1].step if self.rows else self.saved

    @property
    def steps(self) -> int | None:
        return self.head.get("steps")

    def read(self) -> None:
        self.holder = holder(self.state)
        self.saved = max(backends.steps(self.state), default=0)
        failures = failures_of(self.state)
        self.error = failures[-1]["error"] if failures else None
        head = self.state / streamed_metrics.FOLDER / streamed_metrics.HEAD
        try:
            self.head = read_json(head) if head.exists() else {}
        except (OSError, RecordError):
            self.head = {}
        self._read_rows()
        files = [*self.state.glob(f"{streamed_metrics.FOLDER}/*"), *self.state.glob("*step*"), self.state / LEASE]
        signs = [path.stat().st_mtime for path in files if path.exists()]
        self.progress = max(signs, default=self.state.stat().st_mtime)

    def _read_rows(self) -> None:
        """The new rows; all of them where a process has begun the files anew."""
        rows, anew = self._metrics_file.read()
        if anew:
            self.rows, self._figures = [], []
        self.rows += map(_step, rows)
        self._figures += [{name: row.get(name) for name in FIGURES} for row in rows]
        probes, anew = self._probe_file.read()
        judged = [{name: row.get(name) for name in ("step", "pass_rate")} for row in probes]
        self._probes = judged if anew else self._probes + judged
        self.alarms = alarms(self._figures, self._probes)

    def seconds_per_step(self) -> float | None:
        """The mean time between this process's last rows, else that of the last steps themselves."""
        timed = [row.at for row in self.rows[-LAST:] if row.at is not None]
        if len(timed) > 1:
            return (timed[-1] - timed[0]) / (len(timed) - 1)
        last = self.rows[-LAST:]
        return sum(row.seconds for row in last) / len(last) if last else None

    def eta(self, now: float) -> float | None:
        """Seconds to the last step: steps left x seconds per step, less the time since the last row."""
        each = self.seconds_per_step()
        if each is None or self.steps is None:
            return None
        since = now - (self.rows[-1].at or now)
        return max(0.0, (self.steps - self.step) * each - since)

    def status(self, now: float) -> Status:
        if self.holder is None:
            return "stopped"
        if now - self.progress > max(SILENT, 5 * (self.seconds_per_step() or 0.0)):
            return "silent"
        return "running" if self.step else "starting"


def _step(row: dict[str, Any]) -> Step:
    seconds = row.get("timing", {}).get("step", 0.0)
    return Step(row["step"], row.get("at"), seconds, row.get("pass_rate"), row.get("entropy"))


class WatchedRuns:
    """The runs of a results folder; `read` looks for new ones, and for what unfinished ones have got."""

    def __init__(self, results: Path):
        self.results = results
        self.finished: set[str] = set()
        self.unfinished: dict[str, Run] = {}

    def read(self) -> None:
        for folder in sorted(self.results.glob("runs/*")):
            if (folder / "manifest.json").exists():
                self.finished.add(folder.name)
                self.unfinished.pop(folder.name, None)
            elif (folder / "state").is_dir():
                self.finished.discard(folder.name)
                run = self.unfinished.setdefault(folder.name, Run(folder))
                try:
                    run.read()
                except FileNotFoundError:  # it was published or removed meanwhile
                    self.unfinished.pop(folder.name)
        for name in [name for name in self.unfinished if not (self.results / "runs" / name / "state").is_dir()]:
            self.unfinished.pop(name)

    def by_status(self) -> dict[Status, list[Run]]:
        """Unfinished runs by status; running ones with the least time left first, others with the latest sign first."""
        now, groups = time.time(), {"starting": [], "running": [], "silent": [], "stopped": []}
        for run in self.unfinished.values():
            groups[run.status(now)].append(run)
        groups["running"].sort(key=lambda run: (run.eta(now) is None, run.eta(now) or 0.0, run.name))
        for status in ("starting", "silent", "stopped"):
            groups[status].sort(key=lambda run: (-run.progress, run.name))
        return groups  # type: ignore[return-value]

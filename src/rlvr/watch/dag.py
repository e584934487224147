"""The jobs of a Snakemake, from its log below .snakemake/log. It writes a line per event, also for a cluster's jobs."""

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

from rlvr.workflow import locks

STARTED = re.compile(r"(?:local)?(?:rule|checkpoint) (\w+):$")
FAILED = re.compile(r"Error in rule (\w+)")
JOB = re.compile(r"    jobid: (\d+)$")
FINISHED = re.compile(r"Finished job(?:id)?:? (\d+)")
STEPS = re.compile(r"(\d+) of (\d+) steps")
COUNT = re.compile(r"(\w+) +(\d+)$")
TIME = re.compile(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]$")
ENDED = "Complete log"
STAMP = "%Y-%m-%dT%H%M%S.%f"


class Dag:
    """The jobs of one Snakemake; `read` takes in what its log has got since the last time."""

    def __init__(self, log: Path):
        self.log, self.began = log, began(log)
        self.total: dict[str, int] = {}  # jobs by rule, in the DAG's order
        self.done: Counter[str] = Counter()
        self.started: dict[str, str] = {}  # submitted or running: rule by job
        self.failed: dict[str, str] = {}  # not started again yet
        self.steps: tuple[int, int] = 0, 0  # done, and all
        self.ended = False
        self.since: dict[str, float] = {}  # Unix time of the start, by job that is started
        self.took: dict[str, list[float]] = {}  # seconds of finished jobs, by rule
        self._first: float | None = None  # Unix time of the first start
        self._time = self.began.timestamp()  # of the last line with a time
        self._offset, self._rest = 0, ""
        self._statistics = False
        self._block: tuple[re.Pattern[str], str] | None = None  # what the next job id is of

    def read(self) -> None:
        with open(self.log, "rb") as file:
            file.seek(self._offset)
            new = file.read()
        self._offset += len(new)
        *lines, self._rest = (self._rest + new.decode(errors="replace")).split("\n")
        for line in lines:
            self._take(line)

    def count(self, rule: str) -> tuple[int, int, int, int]:
        """Jobs of a rule: done, started, failed, and left."""
        done = self.done[rule]
        started, failed = ([*jobs.values()].count(rule) for jobs in (self.started, self.failed))
        return done, started, failed, max(0, self.total.get(rule, 0) - done - started - failed)

    def left(self, now: float) -> tuple[float, bool] | None:
        """Seconds to the end of the last job, and whether they are a lower bound; None before a job has finished.

        Seconds of work / jobs at once so far. Jobs to come take as long as the mean finished one of their rule. Where
        none of a rule has finished, the bound takes its longest one so far.
        """
        if not self.took or self._first is None or now <= self._first:
            return None
        work, bound = 0.0, False
        for rule in self.total:
            _, _, failed, left = self.count(rule)
            running = [max(0.0, now - self.since[job]) for job, of in self.started.items() if of == rule]
            took = self.took.get(rule)
            each = sum(took) / len(took) if took else max(running, default=0.0)
            work += (failed + left) * each + sum(max(0.0, each - seconds) for seconds in running)
            bound |= not took and bool(failed + left + len(running))
        busy = sum(map(sum, self.took.values())) + sum(max(0.0, now - since) for since in self.since.values())
        at_once = busy / (now - self._first)
        return (work / at_once if at_once else 0.0), bound

    def _take(self, line: str) -> None:
        if self._statistics or line.startswith("Job stats:"):
            self._take_statistics(line)
        elif match := TIME.match(line):
            self._time = datetime.strptime(match[1], "%a %b %d %H:%M:%S %Y").timestamp()
        elif match := STEPS.match(line):
            self.steps = int(match[1]), int(match[2])
        elif match := FINISHED.match(line):
            rule = self.started.pop(match[1], None) or self.failed.pop(match[1], None)
            if rule:
                self.done[rule] += 1
            if rule and match[1] in self.since:
                self.took.setdefault(rule, []).append(self._time - self.since.pop(match[1]))
        elif match := STARTED.match(line):
            self._block = STARTED, match[1]
        elif match := FAILED.match(line):
            self._block = FAILED, match[1]
        elif self._block and (match := JOB.match(line)):
            kind, rule = self._block
            now, before = (self.failed, self.started) if kind is FAILED else (self.started, self.failed)
            now[match[1]] = rule
            before.pop(match[1], None)
            if kind is FAILED:
                self.since.pop(match[1], None)
            else:
                self.since[match[1]] = self._time
                self._first = self._time if self._first is None else self._first
            self._block = None
        elif line.startswith(ENDED):
            self.ended = True

    def _take_statistics(self, line: str) -> None:
        self._statistics = True
        if match := COUNT.match(line):
            if match[1] == "total":
                self.steps = 0, int(match[2])
                self._statistics = False
            else:
                self.total[match[1]] = int(match[2])


def began(log: Path) -> datetime:
    return datetime.strptime(log.name.removesuffix(".snakemake.log"), STAMP)


def logs(folder: Path) -> list[Path]:
    """The logs below .snakemake (`folder`), the newest last."""
    return sorted(folder.glob("log/*.snakemake.log"))


def running(folder: Path) -> dict[locks.Owner, Path]:
    """The Snakemakes at work below .snakemake, each with its log: the last that began before the owner's own note."""
    found = {}
    for owner in locks.living(folder):
        since = datetime.strptime(owner.since, "%Y-%m-%d %H:%M:%S").timestamp()
        before = [log for log in logs(folder) if began(log).timestamp() <= since + 1]
        if before:
            found[owner] = before[-1]
    return found

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
        done, started, failed = (
            self.done[rule],
            *(sum(other == rule for other in jobs.values()) for jobs in (self.started, self.failed)),
        )
        return done, started, failed, max(0, self.total.get(rule, 0) - done - started - failed)

    def _take(self, line: str) -> None:
        if self._statistics or line.startswith("Job stats:"):
            self._take_statistics(line)
        elif match := STEPS.match(line):
            self.steps = int(match[1]), int(match[2])
        elif match := FINISHED.match(line):
            rule = self.started.pop(match[1], None) or self.failed.pop(match[1], None)
            if rule:
                self.done[rule] += 1
        elif match := STARTED.match(line):
            self._block = STARTED, match[1]
        elif match := FAILED.match(line):
            self._block = FAILED, match[1]
        elif self._block and (match := JOB.match(line)):
            kind, rule = self._block
            now, before = (self.failed, self.started) if kind is FAILED else (self.started, self.failed)
            now[match[1]] = rule
            before.pop(match[1], None)
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

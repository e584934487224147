"""Why jobs failed: one line per distinct cause, with its count and its remedy, when Snakemake ends."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.training import retry_guard
from rlvr.workflow.needs import counted

LONGEST = 600  # characters of an error

# What an error of another program asks for; an error of this package says it itself.
REMEDIES = (
    (r"No space left on device|Disk quota exceeded|is full, or its quota", "free some space; the same command goes on"),
    (r"CUDA out of memory|OutOfMemoryError", "docs/cost.md has the settings that need less memory"),
    (r"MemoryError|bad_alloc|Cannot allocate memory", "run fewer jobs at once: --cores 1"),
    (r"No module named '(verl|vllm|ray)", "make install-cluster"),
    (r"No module named", "make install"),
)
KILLED = "it was probably killed, by its memory or time limit or by hand, or the cluster refused it"
_PROGRESS = re.compile(r"\d+%\|")  # tqdm's bar, as the last line of a killed job; errors have percentages too
_PATH = re.compile(r"[\w.~-]*(?:/[\w.@+~-]+)+")


@dataclass(frozen=True)
class Failure:
    """A failed job: its rule, and its log, where it has one."""

    rule: str
    log: Path | None

    @property
    def error(self) -> str:
        """The error in its log, without a new line."""
        text = self.log.read_text(errors="replace") if self.log and self.log.is_file() else ""
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
        if not last or last.startswith("{") or _PROGRESS.search(last):
            return f"no error in its log, {f'which ends with {last[:80]!r}' if last else 'which is empty'}: {KILLED}"
        return (retry_guard.said(text) if "Traceback" in text else last)[:LONGEST]


def of(jobs: Iterable[Any]) -> Iterator[Failure]:
    """The failures among Snakemake's failed jobs; of a group those of its jobs that began and made not all outputs."""
    for job in jobs:
        for one in _begun(job):
            if not job.is_group() or not all(Path(str(path)).exists() for path in one.output):
                yield Failure(one.rule.name, _log(one))


def waiting(remaining: Iterable[Any], failed: Iterable[Any]) -> int:
    """How many jobs did not begin: of those that are not finished, all but the failed, and a failed group's begun ones.

    Snakemake's `remaining_jobs` are single jobs.
    """
    return len(set(remaining) - {one for job in failed for one in _begun(job)})


def _begun(job: Any) -> Iterable[Any]:
    """A failed job, or those jobs of a failed group that began."""
    return [one for one in job.jobs if (log := _log(one)) and log.is_file()] if job.is_group() else [job]


def _log(job: Any) -> Path | None:
    return next((Path(str(path)) for path in job.log), None)


def lines(failures: Iterable[Failure], waiting: int = 0) -> list[str]:
    """A line for each distinct cause, the most frequent first; `waiting` jobs did not begin."""
    rules: dict[str, Counter[str]] = {}
    first: dict[str, tuple[str, Failure]] = {}
    for failure in failures:
        error = failure.error
        cause = retry_guard.same(_PATH.sub("PATH", error))  # without what differs from one job to the next
        first.setdefault(cause, (error, failure))
        rules.setdefault(cause, Counter())[failure.rule] += 1
    found = []
    for key in sorted(rules, key=lambda key: -rules[key].total()):
        error, failure = first[key]
        remedy = next((f": {remedy}" for pattern, remedy in REMEDIES if re.search(pattern, error)), "")
        place = f" (log: {failure.log})" if failure.log else ""
        found.append(f"{counted(rules[key])} failed: {error}{remedy}{place}")
    if found and waiting:
        more = f"{waiting} job{'s' * (waiting != 1)} did not start"
        found.append(f"{more}: they need the output of a failed job, or the run ended first")
    return found

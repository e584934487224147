"""Why jobs failed: one line per distinct cause, with its count and its remedy, when Snakemake ends."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.training import retry_guard
from rlvr.workflow.needs import counted
from rlvr.workflow.scheduler_reasons import Reason

LONGEST = 600  # characters of an error

# What an error of another program asks for; an error of this package says it itself.
REMEDIES = (
    (r"No space left on device|Disk quota exceeded|is full, or its quota", "free some space; the same command goes on"),
    (r"CUDA out of memory|OutOfMemoryError", "docs/cost.md has the settings that need less memory"),
    (r"MemoryError|bad_alloc|Cannot allocate memory", "run fewer jobs at once: --cores 1"),
    (r"No module named '(verl|vllm|ray)", "make install-cluster"),
    (r"No module named", "make install"),
    (r"status is: '(TIMEOUT|DEADLINE)'", "`runtime` and `longest` in config/cluster.yaml give it more time"),
    (r"status is: 'OUT_OF_MEMORY'", "`mem_mb` and `mem_mb_limit` in config/cluster.yaml give it more memory"),
    (r"status is: '\w+'", "the scheduler's log, shown above, may say why"),
    (
        r"time limit is invalid",
        "`runtime` in config/cluster.yaml (of short jobs: a group's sum) must fit the partition",
    ),
    (r"(sbatch|bsub)\b.* failed", "edit config/cluster.yaml, which says what jobs ask for"),
)
KILLED = "it was probably killed, by its memory or time limit or by hand"
MISSING = "missing: "  # begins a line of node_check
_PROGRESS = re.compile(r"\d+%\|")  # tqdm's bar, as the last line of a killed job; errors have percentages too
_PATH = re.compile(r"[\w.~-]*(?:/[\w.@+~-]+)+")


@dataclass(frozen=True)
class Failure:
    """A failed job: its rule, its log, where it has one, and what a cluster's scheduler said of it."""

    rule: str
    log: Path | None
    reason: Reason | None = None

    @property
    def errors(self) -> list[str]:
        """Each on one line: all that a node lacks, the error that ended the job, or what the scheduler said."""
        if self.reason and not self.reason.began:
            return [self.reason.text[:LONGEST]]
        text = self.log.read_text(errors="replace") if self.log and self.log.is_file() else ""
        filled = [line.strip() for line in text.splitlines() if line.strip()]
        last = filled[-1] if filled else ""
        if not last or last.startswith("{") or _PROGRESS.search(last):
            why = self.reason.text if self.reason else KILLED
            return [f"no error in its log, {f'which ends with {last[:80]!r}' if last else 'which is empty'}: {why}"]
        if "Traceback" in text:
            return [retry_guard.said(text)[:LONGEST]]
        return [line[:LONGEST] for line in filled if line.startswith(MISSING)] or [last[:LONGEST]]


def of(jobs: Iterable[Any], reasons: Mapping[Any, Reason] | None = None) -> Iterator[Failure]:
    """The failures among Snakemake's failed jobs; of a group those of its jobs that began and made not all outputs.

    `reasons` is what the scheduler said of jobs and groups. A log beside a refused job is of an earlier attempt.
    """
    for job in jobs:
        reason = (reasons or {}).get(job)
        for one in _begun(job, reason):
            if not job.is_group() or not all(Path(str(path)).exists() for path in one.output):
                yield Failure(one.rule.name, _log(one) if reason is None or reason.began else None, reason)


def waiting(remaining: Iterable[Any], failed: Iterable[Any], reasons: Mapping[Any, Reason] | None = None) -> int:
    """How many jobs did not begin: of those that are not finished, all but the failed, and a failed group's begun ones.

    Snakemake's `remaining_jobs` are single jobs.
    """
    return len(set(remaining) - {one for job in failed for one in _begun(job, (reasons or {}).get(job))})


def _begun(job: Any, reason: Reason | None = None) -> Iterable[Any]:
    """A failed job, or those jobs of a failed group that began; all of them where none did, so that one is named."""
    if not job.is_group():
        return [job]
    refused = reason is not None and not reason.began
    begun = [] if refused else [one for one in job.jobs if (log := _log(one)) and log.is_file()]
    return begun or list(job.jobs)


def _log(job: Any) -> Path | None:
    return next((Path(str(path)) for path in job.log), None)


def lines(failures: Iterable[Failure], waiting: int = 0) -> list[str]:
    """A line for each distinct cause, the most frequent first; `waiting` jobs did not begin."""
    rules: dict[str, Counter[str]] = {}
    first: dict[str, tuple[str, Failure]] = {}
    for failure in failures:
        for error in failure.errors:
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

"""Why a cluster's scheduler refused or ended jobs.

Snakemake prints the reason of a single job in its log, and drops that of a group of jobs.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any

# A sentence of the Slurm plug-in that is true of every job where states come from squeue.
_NO_REASON = re.compile(r" *Detailed failure reason unavailable \([^)]*\)\.?")
# Refusals that the same job would meet again; others pass, such as a controller that does not answer.
_FOR_EVER = re.compile(r"\binvalid\b|configuration is not available|than permitted|can not be satisfied", re.IGNORECASE)


@dataclass(frozen=True)
class Reason:
    """The scheduler's message on a job; `began` is false where it did not accept the job."""

    text: str
    began: bool


def note(executor: Any, logger: logging.Logger) -> dict[Any, Reason]:
    """The last reason of each failed job and group, filled while Snakemake runs jobs by this class of executors.

    A rule whose job is refused for what it asks for has no retries any more: each would be refused at once too.
    """
    reasons: dict[Any, Reason] = {}
    show = executor.print_job_error

    def note_and_show(self: Any, job_info: Any, msg: str | None = None, **more: Any) -> None:
        if msg and (text := summary(msg)):
            reasons[job_info.job] = reason = Reason(text, job_info.external_jobid is not None)
            if job_info.job.attempt == 1 and not reason.began and _FOR_EVER.search(text):
                for one in job_info.job.jobs if job_info.job.is_group() else [job_info.job]:
                    one.rule.restart_times = 0
            if job_info.job.is_group():
                logger.error(msg.rstrip())
        show(self, job_info, msg=msg, **more)

    executor.print_job_error = note_and_show
    return reasons


def summary(message: str) -> str:
    """A message on one line, without the indented call that follows it."""
    lines = message.splitlines()
    end = next((i for i, line in enumerate(lines) if line[:1].isspace()), len(lines))
    return _NO_REASON.sub("", " ".join(" ".join(lines[:end]).split())).rstrip(".")

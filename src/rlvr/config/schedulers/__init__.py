"""Schedulers of clusters (`rlvr.config.registries.SchedulerKind`): the `scheduler` of config/cluster.yaml."""

import os

from rlvr.config.registries import SCHEDULERS

JOB_END = "RLVR_JOB_END"  # environment variable: the end of this job, for what runs in a container


def job() -> str | None:
    """The id of the job that this process belongs to, of any scheduler; None outside of a job."""
    return next(filter(None, (scheduler.job() for _, scheduler in SCHEDULERS.all())), None)


def job_end() -> float | None:
    """The end of this job in seconds since 1970; None outside of a job or if unknown."""
    if known := os.environ.get(JOB_END):
        return float(known)
    return next(filter(None, (scheduler.job_end() for _, scheduler in SCHEDULERS.all())), None)

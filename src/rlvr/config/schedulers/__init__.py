"""Schedulers of clusters (`rlvr.config.registries.SchedulerKind`): the `scheduler` of config/cluster.yaml."""

from rlvr.config.registries import SCHEDULERS


def job() -> str | None:
    """The id of the job that this process belongs to, of any scheduler; None outside of a job."""
    return next(filter(None, (scheduler.job() for _, scheduler in SCHEDULERS.all())), None)


def job_end() -> float | None:
    """The end of this job in seconds since 1970; None outside of a job or if unknown."""
    return next(filter(None, (scheduler.job_end() for _, scheduler in SCHEDULERS.all())), None)

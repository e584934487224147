"""Schedulers of clusters. One module each; its name is the value of `scheduler` in config/cluster.yaml.

A module declares

    resources(request, nodes, gpus_per_node) -> dict   a job's resources under the names of Snakemake's plug-in
    job() -> str | None                                the id of the job that this process belongs to
    job_end() -> float | None                          its end in seconds since 1970, if known
"""

import importlib
from types import ModuleType

from rlvr.config.registries import members


def names() -> tuple[str, ...]:
    return members("config/schedulers")


def load(name: str) -> ModuleType:
    """The module of a scheduler."""
    return importlib.import_module(f"{__name__}.{name}")


def job() -> str | None:
    """The id of the job that this process belongs to, of any scheduler; None outside of a job."""
    return next(filter(None, (load(name).job() for name in names())), None)


def job_end() -> float | None:
    """The end of this job in seconds since 1970; None outside of a job or if unknown."""
    return next(filter(None, (load(name).job_end() for name in names())), None)

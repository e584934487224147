"""Whether the results' file system has room for what planned jobs write: asked before the first job."""

import json
import math
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from rlvr.config.layers import ConfigError
from rlvr.config.plan import Plan
from rlvr.config.schema.models_and_data import LocalModel
from rlvr.cost import disk, hardware
from rlvr.cost.disk import Disk
from rlvr.cost.model import Costs
from rlvr.workflow.needs import Job, Site

MIB, GIB = 2**20, 2**30


class Writers:
    """The bytes that a plan's jobs write."""

    def __init__(self, plan: Plan, site: Site):
        self.results = site.results
        specs = hardware.read(site.root / "config")
        self.plan, self.costs = plan, Costs(specs, next(iter(specs.devices)), site.cluster)  # the same on any device
        self.parameters = cache(self._parameters)
        self.samples = cache(lambda evaluation: self.costs.disk_of_samples(plan.evaluations[evaluation]))

    def of(self, job: Job) -> Disk | None:
        """The bytes that a job adds; None for one that writes little, or whose model's or set's size no file states."""
        with suppress(ConfigError, ValueError, OSError):
            return self._of(job)
        return None

    def _of(self, job: Job) -> Disk | None:
        if job.rule == "rl":
            name = job.wildcards["run"]
            run = self.plan.runs[name]
            size = disk.of_run(run, self.plan.executions[name], self.parameters(run.base.model.name), run.steps)
            return self._more(size, self.results / "runs" / name)
        if job.rule == "sft":
            policy = self.plan.policies[job.wildcards["sft"]]
            assert policy.sft is not None
            size = disk.of_sft(policy.sft.backend, self.parameters(policy.model.name))
            return self._more(size, self.results / "sft" / job.wildcards["sft"])
        if job.rule in ("generate", "merge"):
            return Disk(self.samples(job.wildcards["evaluation"]), 0.0, 0.0)
        return None

    def _more(self, size: Disk, folder: Path) -> Disk:
        """What is still to be written: a stopped job goes on, and replaces its checkpoints."""
        there = _bytes(folder)
        return Disk(max(0.0, size.left - there), max(0.0, size.beside - there), size.checkpoint)

    def _parameters(self, name: str) -> float:
        model = next(one for one in self.plan.models.values() if one.name == name)
        if isinstance(model, LocalModel):
            return sum(map(_of_file, Path(model.path).glob("*.safetensors")))
        return self.costs.hardware.shape(model).parameters


def _of_file(path: Path) -> int:
    """The numbers in a safetensors file: its first eight bytes are the length of a head in JSON.

    Raises ValueError for another file, such as Git LFS's pointer to one.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError(f"{path}: no safetensors file")
        head = json.loads(file.read(length))
    try:
        return sum(math.prod(tensor["shape"]) for name, tensor in head.items() if name != "__metadata__")
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"{path}: no safetensors file") from None


def _bytes(folder: Path) -> int:
    """The bytes of the files in a folder, where a run may be deleting checkpoints."""
    total = 0
    for parent, _, names in os.walk(folder):  # which passes over a folder that has gone
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def missing(jobs: Iterable[Job], plan: Plan, site: Site, at_once: int) -> str | None:
    """A line where jobs write more than is free, as far as sizes are known.

    `at_once` of them train side by side: only these have all their checkpoints.
    """
    writers = Writers(plan, site)
    each = [found for job in jobs if (found := writers.of(job)) is not None]
    beside = sorted((one.beside for one in each), reverse=True)[:at_once]
    needed, free = sum(one.left for one in each) + sum(beside), _free(site.results)
    if needed <= free:
        return None
    what = f"{_size(free)} are free, and this plan writes about {_size(needed)}"
    return f"{site.results}: {what}: free some, or name a folder elsewhere with --config results=FOLDER"


def _free(folder: Path) -> int:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free


def _size(count: float) -> str:
    return f"{count / GIB:,.1f} GiB" if count >= GIB else f"{count / MIB:,.1f} MiB"

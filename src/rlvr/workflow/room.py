"""Whether the results' file system has room for what planned jobs write: asked before the first job."""

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rlvr.config.layers import ConfigError
from rlvr.config.plan import Plan
from rlvr.config.schema.names import LocalModel, Model
from rlvr.cost import disk, hardware
from rlvr.cost.disk import Disk
from rlvr.cost.model import Costs
from rlvr.workflow.needs import Job, Site

MIB, GIB = 2**20, 2**30
PARAMETER = 2  # bytes of a parameter in a model's files, at least: bfloat16


class Writers:
    """The bytes that a plan's jobs write."""

    def __init__(self, plan: Plan, site: Site):
        specs = hardware.read(site.root / "config")
        self.plan, self.costs = plan, Costs(specs, next(iter(specs.devices)), site.cluster)  # the same on any device
        self.parameters = cache(self._parameters)
        self.samples = cache(lambda evaluation: self.costs.disk_of_samples(plan.evaluations[evaluation]))

    def of(self, job: Job) -> Disk | None:
        """The bytes of a job; None for one that writes little. Raises ConfigError where the sizes are not known."""
        if job.rule == "rl":
            name = job.wildcards["run"]
            run, model = self.plan.runs[name], self.plan.runs[name].base.model
            return disk.of_run(run, self.plan.executions[name], self.parameters(model.name), run.steps)
        if job.rule == "sft":
            policy = self.plan.policies[job.wildcards["sft"]]
            assert policy.sft is not None
            return disk.of_sft(policy.sft.backend, self.parameters(policy.model.name))
        if job.rule in ("generate", "merge"):
            return Disk(self.samples(job.wildcards["evaluation"]), 0.0, 0.0)
        return None

    def _parameters(self, name: str) -> float:
        model = next(one for one in self.plan.models.values() if one.name == name)
        return _in_files(model) if isinstance(model, LocalModel) else self.costs.hardware.shape(model).parameters


def _in_files(model: Model) -> float:
    """How many parameters the files of a local model hold at most."""
    assert isinstance(model, LocalModel)
    return sum(file.stat().st_size for file in Path(model.path).glob("*.safetensors")) / PARAMETER


def missing(jobs: Iterable[Job], plan: Plan, site: Site, at_once: int) -> str | None:
    """A line where jobs write more than is free. `at_once` jobs run side by side: only these have all checkpoints."""
    writers = Writers(plan, site)
    try:
        each = [found for job in jobs if (found := writers.of(job)) is not None]
    except (ConfigError, ValueError):  # a model or a set whose size no file states
        return None
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

"""config/cluster.yaml: the resources of Slurm jobs, by kind and rule. Read once, when the Snakefile is parsed."""

import shlex
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from rlvr.config import registries
from rlvr.config.explain import validate
from rlvr.config.layers import ConfigError, look_up, read_yaml
from rlvr.config.schema.fields import Natural, Positive, Strict

KINDS = ("cpu", "short", "gpu")  # the kinds of jobs in the workflow


class JobResources(Strict):
    """The resources of a rule's jobs; None: as their kind has it."""

    partition: str | None = None
    runtime: Positive | None = None  # minutes
    longest: Positive | None = None  # minutes, also of a retry
    mem_mb: Positive | None = None
    cpus: Positive | None = None
    gpus: Natural | None = None
    gpu_type: str | None = None
    nodes: Positive | None = None


class Kind(JobResources):
    """The resources of a kind of job."""

    @model_validator(mode="after")
    def has_partition_and_runtime(self):
        missing = [name for name in ("partition", "runtime") if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a kind of job needs {' and '.join(missing)}")
        return self


class Cluster(Strict):
    # How a site starts Python for a backend or an engine: a path or a command. Default: the workflow's own Python.
    environments: dict[str, str] = Field(default_factory=dict)
    account: str | None
    qos: str | None = None
    constraint: str | None = None
    kinds: dict[str, Kind]
    rules: dict[str, JobResources] = Field(default_factory=dict)
    overrides: dict[str, list[str]] = Field(default_factory=dict)  # of a backend's own configuration

    @model_validator(mode="after")
    def has_the_usual_kinds(self):
        missing = [kind for kind in ("cpu", "short") if kind not in self.kinds]
        if missing:
            raise ValueError(f"kinds: `{missing[0]}` is missing")
        return self

    def python(self, name: str, root: Path) -> str:
        """The command that starts Python for a backend or an engine; a relative path begins at the project's root."""
        program, *arguments = shlex.split(self.environments.get(name, "python"))
        return shlex.join([str(root / program) if "/" in program else program, *arguments])

    def resources(self, rule: str, kind: str = "cpu") -> dict[str, Any]:
        """The resources of a rule's jobs under Snakemake's names; attempt n gets n times the time, up to `longest`.

        Raises ConfigError for a kind that the site lacks: its job would wait for ever.
        """
        request = self._request(rule, kind)
        minutes, (nodes, gpus_each) = request["runtime"], self.devices(rule, kind)
        resources = {
            "slurm_partition": request["partition"],
            "slurm_account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "mem_mb": request["mem_mb"],
            "cpus_per_task": request["cpus"],
            "gpu": request["gpus"] or None,
            "gpu_model": request["gpu_type"] if request["gpus"] else None,
            "runtime": lambda wildcards, attempt: min(minutes * attempt, max(minutes, request["longest"] or minutes)),
        }
        if nodes > 1:  # one task per node, else sbatch gives one node; GPUs per node, else srun asks one node for all
            each = ":".join(filter(None, [resources.pop("gpu_model"), str(gpus_each)]))
            extra = f"--gpus-per-node={each}" if resources.pop("gpu") else None
            resources |= {"nodes": nodes, "tasks": nodes, "slurm_extra": extra}
        return {name: value for name, value in resources.items() if value is not None}

    def devices(self, rule: str, kind: str = "cpu") -> tuple[int, int]:
        """The nodes of a rule's job, and devices per node: its GPUs, or 1 where it has none."""
        request = self._request(rule, kind)
        nodes, gpus = request["nodes"] or 1, request["gpus"] or 0
        if gpus % nodes:
            raise ConfigError(f"config/cluster.yaml: {rule}: {gpus} GPUs do not divide by {nodes} nodes")
        return nodes, max(1, gpus // nodes)

    def _request(self, rule: str, kind: str) -> dict[str, Any]:
        if kind not in self.kinds:
            raise ConfigError(f"config/cluster.yaml: kinds.{kind}: this key is missing, and {rule} needs it")
        request = self.kinds[kind].model_dump()
        for name in (rule.partition(".")[0], rule):  # `rl`, and on top of it `rl.verl`
            request |= self.rules.get(name, JobResources()).model_dump(exclude_none=True)
        return request


def read_cluster(path: Path, root: Path, rules: list[str]) -> Cluster:
    """The checked content of the file. Raises ConfigError, which names file and key."""
    layer = read_yaml(path, root)
    cluster = validate(Cluster, [layer])
    for kind in cluster.kinds:
        look_up(KINDS, kind, "kind of job", layer.place(("kinds", kind)))
    for rule in cluster.rules:
        look_up(rules, rule, "rule", layer.place(("rules", rule)))
    for name in cluster.environments:
        look_up(registries.environments(), name, "environment", layer.place(("environments", name)))
    for name in cluster.overrides:
        look_up(registries.backends(), name, "backend", layer.place(("overrides", name)))
    return cluster

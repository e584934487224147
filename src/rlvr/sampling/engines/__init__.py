"""Generation engines: a policy on disk and problems in, completions out. One module an engine; its name is its file's.

A module has `load(manifest, sampling, **execution) -> Engine`, `version()`, and

    ROWS          completions drawn at a time, at least and at most: what a kill loses, and memory, not numbers
    ENVIRONMENT   the environment of config/cluster.yaml that it runs in, where `execution.shards` jobs share an
                  evaluation; None: the workflow's own, where one job draws all of it

Sample i of a problem depends on the policy, the sampling settings, the seed, the problem and i, and in process on
nothing else; in vLLM, on the batch as well, as far as its kernels are not batch-invariant. Every sampling parameter is
given: nothing is left to an engine's default or to a model's `generation_config`.
"""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from rlvr.config.schema.settings import Evaluation
    from rlvr.records import Completion, Problem


class EngineError(RuntimeError):
    """An engine that is not installed, or a policy that it cannot run; the message says which."""


@dataclass(frozen=True)
class Sampled:
    """A completion with its tokens and their log-probabilities, for the comparison with the trainer's."""

    completion: Completion
    prompt: list[int]
    response: list[int]
    logprobs: list[float]


class Engine(Protocol):
    name: str
    version: str

    def draw(self, problems: list[Problem], first: int, last: int) -> list[Sampled]:
        """Samples `first` to `last` - 1 of each problem, in order."""
        ...


def rows(name: str) -> tuple[int, int]:
    """An engine's ROWS."""
    return _module(name).ROWS


def version(name: str) -> str:
    """Of the engine `name`, which need not be started for it. Raises EngineError where it is not installed."""
    return _module(name).version()


def load(name: str, manifest: Path, sampling: Evaluation, **execution: Any) -> Engine:
    """The engine `name` with a policy in it. Raises EngineError."""
    return _module(name).load(manifest, sampling, **execution)


def _module(name: str) -> Any:
    return importlib.import_module(f"rlvr.sampling.engines.{name}")


def number_of(problem: Problem) -> int:
    """A problem's key for random streams, whatever else is drawn beside it."""
    return int(hashlib.sha256(problem.id.encode()).hexdigest()[:12], 16)

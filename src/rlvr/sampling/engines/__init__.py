"""Generation engines: completions from a policy on disk and problems. One module each, with an
`EngineKind` (rlvr.config.registries).

Sample i of a problem depends only on the policy, the sampling settings, the seed, the problem and i; in vLLM also on
the batch, as far as its kernels are not batch-invariant. Every sampling parameter is explicit: no default of an engine
or of a model's `generation_config` applies.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlvr.config.registries import ENGINES
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


def load(name: str, manifest: Path, sampling: Evaluation, **execution: Any) -> Engine:
    """The engine `name` with a policy in it. Raises EngineError."""
    return ENGINES.load(name).load(manifest, sampling, **execution)


def limits_of(sampling: Evaluation, problems: list[Problem], prompts: list[list[int]]) -> list[int]:
    """The most tokens of a response to each prompt. Raises EngineError where a prompt leaves no room for one."""
    limits = [sampling.room(len(prompt)) for prompt in prompts]
    for problem, prompt, limit in zip(problems, prompts, limits, strict=True):
        if limit < 1:
            raise EngineError(
                f"{problem.id}: a prompt of {len(prompt)} tokens leaves no room for a response within "
                f"evaluation.max_total_tokens: {sampling.max_total_tokens}"
            )
    return limits


def number_of(problem: Problem) -> int:
    """A problem's key for random streams, independent of other problems."""
    return int(hashlib.sha256(problem.id.encode()).hexdigest()[:12], 16)

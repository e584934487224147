"""Generation engines: completions from a policy on disk and problems. One module each, with an
`EngineKind` (rlvr.config.registries).

Sample i of a problem depends only on the policy, the sampling settings, the seed, the problem and i; in vLLM also on
the batch, as far as its kernels are not batch-invariant. Every sampling parameter is explicit: no default of an engine
or of a model's `generation_config` applies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rlvr.config.registries import ENGINES
from rlvr.config.schema.settings import Evaluation
from rlvr.records import Completion, Problem

if TYPE_CHECKING:
    from rlvr.policies.native.engine import Drawn


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


def sampled(
    engine: Any,
    problems: list[Problem],
    prompts: list[list[int]],
    limits: list[int],
    first: int,
    drawn: Drawn,
) -> list[Sampled]:
    """What an engine has drawn, samples `first` and on of each problem, each response cut at its prompt's limit."""
    found = []
    for p, (problem, limit) in enumerate(zip(problems, limits, strict=True)):
        lengths = [min(int(length), limit) for length in drawn.lengths_PG[p]]
        rows = [drawn.tokens_PGT[p, g, :length].tolist() for g, length in enumerate(lengths)]
        for g, text in enumerate(engine.policy.decode(rows)):
            end = "stop" if drawn.finished_PG[p, g] and drawn.lengths_PG[p, g] <= limit else "length"
            logprobs = drawn.logprobs_PGT[p, g, : lengths[g]]
            total = round(float(logprobs.sum(dtype=np.float64)), 4)
            one = Completion(problem.id, first + g, text, lengths[g], end, total, engine.name, engine.version)
            found.append(Sampled(one, prompts[p], rows[g], logprobs.tolist()))
    return found


def number_of(problem: Problem) -> int:
    """A problem's key for random streams, independent of other problems."""
    return int(hashlib.sha256(problem.id.encode()).hexdigest()[:12], 16)

"""The native engine's sampler, on one CPU core, without torch: the samples of in_process, up to rounding."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rlvr.config.registries import EngineKind
from rlvr.config.schema.settings import Evaluation
from rlvr.policies.native import library
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Unsupported
from rlvr.policies.native.saved import read_policy
from rlvr.policies.noise import STREAM_EVALUATION, noise_of
from rlvr.policies.store import Policy
from rlvr.records import Problem
from rlvr.sampling.engines import EngineError, Sampled, limits_of, number_of, sampled

VERSION = 1  # increase it when the engine changes samples


def version() -> str:
    try:
        return f"native {VERSION}, {library.level()}"
    except library.NoEngine as error:
        raise EngineError(str(error)) from error


class Native:
    name = "native"

    def __init__(self, manifest: Path, sampling: Evaluation):
        saved, tokenizer, template = read_policy(manifest)
        self.policy, self.sampling, self.version = Policy(saved, tokenizer, template), sampling, version()

    @cached_property
    def engine(self) -> Engine:
        loaded = Engine(self.policy.model.model)
        loaded.load(self.policy.model.flat)
        return loaded

    def draw(self, problems: list[Problem], first: int, last: int) -> list[Sampled]:
        sampling, encoded = self.sampling, self.policy.encode([problem.prompt for problem in problems])
        limits = limits_of(sampling, problems, encoded)
        lengths_P = np.array([len(prompt) for prompt in encoded])
        prompts_PL = np.full((len(encoded), lengths_P.max()), self.policy.pad)
        for row, prompt in zip(prompts_PL, encoded, strict=True):
            row[: len(prompt)] = prompt
        keys = [(sampling.seed, STREAM_EVALUATION, number_of(problem)) for problem in problems]
        drawn = self.engine.sample(
            prompts_PL,
            lengths_P,
            noise_of(keys, first, last - first, sampling.max_response_tokens),
            eos_token=self.policy.eos,
            pad_token=self.policy.pad,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
        )
        return sampled(self, problems, encoded, limits, first, drawn)


def load(manifest: Path, sampling: Evaluation, **_: Any) -> Native:
    try:
        return Native(manifest, sampling)
    except (Unsupported, library.NoEngine) as error:
        raise EngineError(f"the engine native: {error}") from error


ENGINE = EngineKind(
    load=load,
    origin=version,
    rows=(4096, 4096),
    version=VERSION,
    missing=library.missing,
    instead="in_process",  # where the engine is not built
    precisions=("float32",),
    devices=("cpu",),
    modules=("safetensors", "tokenizers"),
)

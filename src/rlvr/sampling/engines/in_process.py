"""The package's own sampler, on one device.

Its noise is counter-based, so batching changes no sample, and log-probabilities only by rounding.
"""

from pathlib import Path
from typing import Any

from rlvr.config.registries import EngineKind
from rlvr.config.schema.settings import Evaluation
from rlvr.policies.native.engine import Drawn
from rlvr.policies.noise import STREAM_EVALUATION
from rlvr.policies.store import Policy, device
from rlvr.policies.store import load as load_policy
from rlvr.records import Problem
from rlvr.sampling.engines import Sampled, limits_of, number_of, sampled


def version() -> str:
    import torch
    import transformers

    return f"torch {torch.__version__}, transformers {transformers.__version__}"


class InProcess:
    name = "in_process"

    def __init__(self, policy: Policy, sampling: Evaluation):
        from rlvr.training.forward import sampler

        self.policy, self.sampling = policy, sampling
        self.sampler = sampler(policy.model)
        self.version = version()

    def draw(self, problems: list[Problem], first: int, last: int) -> list[Sampled]:
        import torch

        from rlvr.training.rollouts import sample_prompts

        sampling = self.sampling
        encoded = self.policy.encode([problem.prompt for problem in problems], [problem.images for problem in problems])
        limits = limits_of(sampling, problems, encoded)
        with torch.no_grad():
            _, drawn = sample_prompts(
                self.policy,
                self.sampler,
                encoded,
                [(sampling.seed, STREAM_EVALUATION, number_of(problem)) for problem in problems],
                first=first,
                rollouts=last - first,
                max_tokens=sampling.max_response_tokens,  # the noise depends on it
                temperature=sampling.temperature,
                top_p=sampling.top_p,
            )
        if self.policy.pictures is not None:
            encoded = [self.policy.pictures.as_words(torch.tensor(prompt)).tolist() for prompt in encoded]
        arrays = Drawn(**{name: tensor.cpu().numpy() for name, tensor in vars(drawn).items()})
        return sampled(self, problems, encoded, limits, first, arrays)


def load(manifest: Path, sampling: Evaluation, **_: Any) -> InProcess:
    import torch

    from rlvr.training.deterministic import one_thread

    one_thread()
    return InProcess(load_policy(manifest, device=device(), dtype=getattr(torch, sampling.precision)), sampling)


ENGINE = EngineKind(load=load, origin=version, rows=(1024, 1024), sees=True)

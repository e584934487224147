"""The trainer in process on rollouts that verl recorded (`rlvr.record_rollouts`)."""

from pathlib import Path

import torch

from rlvr.config.schema.specs import RunSpec
from rlvr.policies.sampler import Samples
from rlvr.policies.store import load
from rlvr.records import Problem
from rlvr.training.batches import Groups, all_logprobs, pad_prompts
from rlvr.training.rollouts import Batch
from rlvr.training.trainer import Trainer


class Replay(Trainer):
    """`advance` takes a step from the next record."""

    def __init__(self, spec: RunSpec, base: Path, records: list[Path]):
        policy, reference = load(base), load(base)
        super().__init__(
            spec, policy, reference, [Problem("none", "1 2 3 = 6", "", "")], [Problem("none", "1", "", "")]
        )
        self.records = iter(records)

    def _collect(self) -> Batch:
        record = torch.load(next(self.records))
        prompts_PL, prompt_lengths_P = pad_prompts(record["prompts"], self.policy.pad, "cpu")
        lengths_PG = record["lengths_PG"]
        tokens_PGT = record["tokens_PGT"][..., : int(lengths_PG.max())]
        groups = Groups(prompts_PL, prompt_lengths_P, tokens_PGT, lengths_PG)
        logprobs_PGT = all_logprobs(self.decoder, groups, self.spec.rl.sequences_per_microbatch)
        zeros = torch.zeros_like(logprobs_PGT)
        samples = Samples(tokens_PGT, logprobs_PGT, zeros, lengths_PG, torch.ones_like(lengths_PG, dtype=torch.bool))
        rewards_PG = record["rewards_PG"]
        return Batch(groups, samples, rewards_PG, rewards_PG, rewards_PG.mean(1).tolist(), {}, 1, 0)

    def first_moments(self) -> dict[str, torch.Tensor]:
        """AdamW's mean of (clipped) gradients, by the parameter's name."""
        return {
            name: self.optimizer.state[parameter]["exp_avg"]
            for name, parameter in self.model.named_parameters()
            if parameter in self.optimizer.state
        }


def first_moments(checkpoint: Path) -> dict[str, torch.Tensor]:
    """The same from a checkpoint of verl on one device."""
    saved = torch.load(checkpoint / "optim_world_size_1_rank_0.pt", weights_only=False, map_location="cpu")
    names = list(torch.load(checkpoint / "model_world_size_1_rank_0.pt", weights_only=False, map_location="cpu"))
    state = saved["state"]
    keyed = state if all(isinstance(key, str) for key in state) else dict(zip(names, state.values(), strict=False))
    return {name: _local(entry["exp_avg"]) for name, entry in keyed.items()}


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return getattr(tensor, "_local_tensor", tensor)

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
        logprobs_PGT = all_logprobs(self.forward, groups, self.microbatch)
        zeros = torch.zeros_like(logprobs_PGT)
        samples = Samples(tokens_PGT, logprobs_PGT, zeros, lengths_PG, torch.ones_like(lengths_PG, dtype=torch.bool))
        rewards_PG = record["rewards_PG"]
        return Batch(groups, samples, rewards_PG, rewards_PG, None, rewards_PG.mean(1).tolist(), {}, 1, 0, [], [], 0.0)

    def first_moments(self) -> dict[str, torch.Tensor]:
        """AdamW's mean of (clipped) gradients, by the parameter's name."""
        return {
            name: self.optimizer.state[parameter]["exp_avg"]
            for name, parameter in self.model.named_parameters()
            if parameter in self.optimizer.state
        }

    def _warm_up(self, optimizer: torch.optim.Optimizer, *_) -> None:
        super()._warm_up(optimizer)
        self.learning_rates = [*getattr(self, "learning_rates", []), optimizer.param_groups[0]["lr"]]


def weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint of verl, from the shards of all ranks."""
    return _whole([{name: _local(tensor) for name, tensor in shard.items()} for shard in _shards(checkpoint, "model")])


def first_moments(checkpoint: Path) -> dict[str, torch.Tensor]:
    """AdamW's mean of (clipped) gradients in a checkpoint of verl, from the shards of all ranks."""
    names = list(_shards(checkpoint, "model")[0])
    shards = []
    for shard in _shards(checkpoint, "optim"):
        state = shard["state"]
        keyed = state if all(isinstance(key, str) for key in state) else dict(zip(names, state.values(), strict=False))
        shards.append({name: _local(entry["exp_avg"]) for name, entry in keyed.items()})
    return _whole(shards)


def _shards(checkpoint: Path, kind: str) -> list[dict]:
    """What each rank saved, by rank."""
    ranks = len(list(checkpoint.glob(f"{kind}_world_size_*_rank_*.pt")))
    paths = [checkpoint / f"{kind}_world_size_{ranks}_rank_{rank}.pt" for rank in range(ranks)]
    return [torch.load(path, weights_only=False, map_location="cpu") for path in paths]


def _whole(shards: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """FSDP2 gives each rank some of a tensor's first dimension."""
    return {name: torch.cat([shard[name] for shard in shards]) for name in shards[0]}


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return getattr(tensor, "_local_tensor", tensor)

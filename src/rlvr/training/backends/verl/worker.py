"""verl's worker of actor and reference, with resets (PACS, sec. 3.4; FADE, App. 15.2) and weights kept on the way."""

from pathlib import Path
from typing import Any

import torch
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker

from rlvr.policies.store import last_layers, save_kept
from rlvr.training.backends.verl import padded
from rlvr.training.backends.verl.own_ray import in_own_folder


class ResettingWorker(ActorRolloutRefWorker):
    """Every method acts on each rank's own shard."""

    def __init__(self, *arguments: Any, **named: Any):
        padded.install()
        super().__init__(*arguments, **named)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        super().init_model()
        if hasattr(self.rollout, "zmq_handle"):  # of vLLM, whose own end is `vllm_worker.Receiver`
            self.rollout.zmq_handle = in_own_folder(self.rollout.zmq_handle)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_reference(self, moments: bool) -> None:
        """Copy the actor into the reference, and clear the optimizer's moments if asked."""
        ours, theirs = self.ref.engine.module.parameters(), self.actor.engine.module.parameters()
        with torch.no_grad():
            for reference, actor in zip(ours, theirs, strict=True):
                _shard(reference).copy_(_shard(actor))
        if moments:
            self.actor.engine.optimizer.state.clear()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_last_layers(self, layers: int) -> None:
        """Copy the reference's last layers into the actor (FADE, App. 15.2)."""
        reference = dict(self.ref.engine.module.named_parameters())
        actor = dict(self.actor.engine.module.named_parameters())  # a tied head is in neither
        with torch.no_grad():
            for name in last_layers(actor, layers):
                _shard(actor[name]).copy_(_shard(reference[name]))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_reference(self, folder: str) -> None:
        """Save a reset reference: at a resume, verl loads the original one from `model.path`."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        torch.save([_shard(p).cpu() for p in self.ref.engine.module.parameters()], self._file(folder))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_reference(self, folder: str) -> None:
        shards = torch.load(self._file(folder), map_location="cpu", weights_only=True)
        with torch.no_grad():
            for reference, saved in zip(self.ref.engine.module.parameters(), shards, strict=True):
                _shard(reference).copy_(saved)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def keep_weights(self, path: str, step: int) -> None:
        """Publish the actor's weights in bfloat16, as verl publishes a policy; a tied head is not among them.

        One weight after the other is gathered on every rank, and the first one has all on its host.
        """
        kept = {}
        for name, parameter in self.actor.engine.module.named_parameters():
            weight = parameter.data.bfloat16()
            weight = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
            if self.rank == 0:
                kept[name] = weight.cpu().contiguous()
        if self.rank == 0:
            save_kept(Path(path), {step: kept})

    def _file(self, folder: str) -> Path:
        return Path(folder) / f"reference_world_size_{self.world_size}_rank_{self.rank}.pt"


def _shard(parameter: Any) -> torch.Tensor:
    """A rank's own part of a parameter, which FSDP2 keeps as a DTensor."""
    return parameter.data.to_local() if hasattr(parameter.data, "to_local") else parameter.data

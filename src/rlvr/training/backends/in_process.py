"""Training in the stage's own process by torch, on one device."""

from pathlib import Path
from typing import Any

from rlvr.config.registries import BackendKind, Stage
from rlvr.policies import store

STAGES = {"rl": Stage("rlvr.training.rl"), "sft": Stage("rlvr.training.sft")}


def steps(state: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in state.glob("step-*")]


def origin() -> dict[str, Any]:
    return {"device": str(store.device())}


def policy(manifest: Path) -> store.Policy:
    """In float32: equal weights of policy and reference must give equal log-probabilities."""
    import torch

    return store.load(manifest, device=store.device(), dtype=torch.float32)


BACKEND = BackendKind(stages=STAGES, steps=steps, critic=True, weights=True, policy=policy, origin=origin)

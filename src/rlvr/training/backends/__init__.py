"""Training backends. One module or package each; its name is its name in configuration.

A module, which must import without the backend's own environment, declares

    STAGES = {"rl": Stage(...), "sft": Stage(...)}   how to start each stage
    CRITIC = True                                    if it trains a value model, for PPO
    WEIGHTS = True                                   if it can read and set the policy's weights between steps
    steps(state) -> list[int]                        the steps of a folder's checkpoints

One whose stages are rlvr.training.rl and rlvr.training.sft also has

    policy(manifest) -> Policy                       to train, or as the reference
    origin() -> dict                                 entries of the manifest's provenance: device, engine

and a member that is not everywhere, or not for everything (as engines of rlvr.sampling.engines),

    VERSION                                          in the identity of what it makes, from 2 on
    missing() -> str | None                          why it cannot work on this machine
    INSTEAD                                          the member that a plan takes in that case, which it says
    PRECISIONS, DEVICES                              all that it computes in, and on; without them, any
    MODULES                                          what it imports in the workflow's own Python; without it, torch
                                                     and transformers

config/cluster.yaml may name its environment, overrides, and resources (`rl.<name>`, `sft.<name>`).
"""

import importlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config import registries


@dataclass(frozen=True)
class Stage:
    """How to start a stage. With `devices`, the command gets the GPUs and the site's overrides.

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


def load(name: str) -> Any:
    """The module of a backend."""
    return importlib.import_module(f"{__name__}.{name}")


def steps(state: Path) -> list[int]:
    """Steps of the checkpoints in a folder, of any backend."""
    return [step for name in registries.backends() for step in load(name).steps(state)]

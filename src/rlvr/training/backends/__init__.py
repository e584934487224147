"""Backends: what carries out training. One module or package each; its name is its name in configuration.

A module, which imports nothing that its environment alone has, declares

    STAGES = {"rl": Stage(...), "sft": Stage(...)}   what starts it
    CRITIC = True                                    it trains a value model, for PPO; left out: it has none
    steps(state) -> list[int]                        of the checkpoints that a folder holds

config/cluster.yaml may name an environment, overrides, and resources (`rl.<name>`, `sft.<name>`) for it.
"""

from __future__ import annotations

import importlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config import registries


@dataclass(frozen=True)
class Stage:
    """How a stage is started. One with `devices` is told of GPUs and the site's overrides.

    `launcher` starts it over several nodes; without one it has one node.
    """

    module: str
    devices: bool = False
    launcher: str | None = None

    def command(self, start: str, python: str, nodes: int, gpus_per_node: int, overrides: list[str]) -> str:
        """The words of a shell that start it, where `start` starts Python, and `python` a Python of its environment."""
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
    """Steps of the checkpoints in a folder, whichever backend keeps them."""
    return [step for name in registries.backends() for step in load(name).steps(state)]

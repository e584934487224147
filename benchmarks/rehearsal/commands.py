"""The commands of the rehearsal's stages, with their environment and inputs."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from chunks import Failed
from figures import end_of, ended
from kit import change
from machine import QUIET
from processes import GpuMemory, descendants, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULES = HERE / "modules"

EAGER = "actor_rollout_ref.rollout.enforce_eager=True"
# A second attempt, after a failure: what depends least on the GPU's driver and on stripped libraries.
CAREFUL_BACKEND = "TRITON_ATTN"
SECOND_ATTEMPT = 60.0  # seconds that must be left for one
COIN = [
    "reward.reward_manager.module.path='pkg://rehearsal_coin'",
    "reward.reward_manager.name=Coin",
]


def pair(word: str) -> tuple[str, Any]:
    """The key and value of KEY=VALUE, whose value is JSON or a text."""
    key, value = word.split("=", 1)
    with suppress(ValueError):
        return key, json.loads(value)
    return key, value


class Stages:
    """What the blocks share: one work folder, one environment, one end of time, and commands of the stages."""

    def __init__(self, options: argparse.Namespace):
        self.options, self.out, self.work = options, options.out, options.work
        self.python, self.vllm_python = options.python, options.vllm_python or options.python
        self.site, self.logs = self.work / "site", self.work / "logs"
        self.kit = options.kit or self.work / "kit"
        self.plan = self.work / "plan"
        for folder in (self.out, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        self.ends = time.monotonic() + options.seconds
        self.memory = GpuMemory()
        self.memory.start()
        self.watching = set(descendants(os.getpid()))  # processes of this script's own
        self.careful = False  # a run failed, so that the next ones avoid CUDA's IPC and FlashAttention
        self.limit = 0.0  # time.monotonic() at which the block in work must end

    # -- commands --

    def environment(self) -> dict[str, str]:
        stubs, cache = self.work / "stubs", self.work / "cache"
        paths = [*([stubs] if stubs.exists() else []), self.site, ROOT / "src", MODULES]
        caches = {"TRITON_CACHE_DIR": "triton", "VLLM_CACHE_ROOT": "vllm", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
        env = {**os.environ, **QUIET, **{key: str(cache / name) for key, name in caches.items()}}
        if self.options.cpu:
            env |= self.on_cpu()["env"]
            paths += [ROOT / "tests"]
        env["PYTHONPATH"] = os.pathsep.join(str(path) for path in paths if path.exists())
        external = [env.get("VERL_USE_EXTERNAL_MODULES", ""), "rehearsal_shm" if self.by_shm else ""]
        if any(external):
            env["VERL_USE_EXTERNAL_MODULES"] = ",".join(filter(None, external))
        return {**env, **dict(word.split("=", 1) for word in self.options.env)}

    @property
    def by_shm(self) -> bool:
        return self.options.weights_by_shm or self.careful

    @property
    def attention_backend(self) -> str | None:
        return self.options.attention_backend or (CAREFUL_BACKEND if self.careful else None)

    def on_cpu(self) -> dict[str, Any]:
        """What verl must be told without a GPU, as tests do."""
        sys.path.insert(0, str(ROOT / "tests"))
        from support.verl_without_gpu import COMMON, RL, environment

        sft = [*COMMON, "model.enable_gradient_checkpointing=False", "engine.use_torch_compile=False"]
        return {"rl": RL, "sft": sft, "env": environment()}

    def log(self, block: str) -> Path:
        return self.out / f"{block}.log"

    def left(self) -> float:
        """Seconds that the block in work still has."""
        return self.limit - time.monotonic()

    def must(self, block: str, *command: object, python: str | None = None) -> None:
        """Run a Python command; raises Failed if it fails or is too slow."""
        words = [python or self.python, *map(str, command)]
        code = run(words, self.log(block), self.left(), self.environment())
        if code != 0:
            raise Failed(f"{' '.join(map(str, command[:2]))}: {ended(code)}")

    # -- inputs --

    def write_plan(self) -> None:
        """The kit's specifications with the changes of the command line."""
        specs = {n: json.loads((self.kit / f"plan/{n}.json").read_text()) for n in ("run", "evaluation", "execution")}
        specs["base"] = specs["run"]["base"]
        for key, value in map(pair, self.options.set):
            try:
                change(specs, key, value)
            except KeyError as error:
                raise Failed(f"--set {error.args[0]}") from error
        self.plan.mkdir(parents=True, exist_ok=True)
        for name, content in specs.items():
            (self.plan / f"{name}.json").write_text(json.dumps(content))

    def data(self, name: str, file: str = "problems") -> Path:
        return self.kit / "data" / name / f"{file}.jsonl"

    def model(self, number: int = 1) -> Path:
        """The manifest of random (or real) weights; made where it is missing."""
        manifest = self.work / f"model-{number}" / "manifest.json"
        if not manifest.exists():
            folder = self.options.model or self.kit / "model"
            module = str(MODULES / "rehearsal_weights.py")
            command = [self.python, module, str(folder), str(number), str(manifest)]
            self.inputs(command, self.logs / "weights.log", max(60.0, self.left()))
        return manifest

    def inputs(self, command: list[str], log: Path, limit: float) -> None:
        """Make inputs by a command. Raises Failed where it fails or is too slow."""
        if (code := run(command, log, limit, self.environment())) != 0:
            raise Failed(f"{Path(command[1]).name}: {ended(code)}\n{end_of(log, 15)}")

    def base(self) -> Path:
        """The policy that SFT made, else the model."""
        trained = self.work / "sft/manifest.json"
        return trained if trained.exists() else self.model()

    def rl(self, folder: Path, base: Path, *more: str) -> list[str]:
        """The command of a run, as the rule rl has it."""
        given = [EAGER] if not self.options.cpu else self.on_cpu()["rl"]
        given = [*given, *(COIN if self.options.reward == "coin" else [])]
        if self.attention_backend:
            key = "+actor_rollout_ref.rollout.engine_kwargs.vllm.attention_backend"
            given.append(f"{key}={self.attention_backend}")
        given = [*given, *self.options.override, *more]
        return [
            *(self.python, "-m", "rlvr.training.backends.verl.rl", "--spec", str(self.plan / "run.json")),
            *("--base", str(base), "--execution", str(self.plan / "execution.json")),
            *("--problems", str(self.data("train")), "--validation", str(self.data("validation"))),
            *("--out", str(folder / "manifest.json"), "--state", str(folder / "state"), "--gpus-per-node", "1"),
            *(word for line in given for word in ("--override", line)),
        ]

    def fresh(self, name: str) -> Path:
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

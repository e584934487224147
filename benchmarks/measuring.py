"""What the parts of `make bench` share: its size, processes and their CPU time, a base policy to measure with.

Seconds are of CPU time, since other work on a machine moves the clock; a ratio's sides are measured in turn.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from rlvr.config.paths import Paths
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.specs import RunSpec
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, read_records
from rlvr.training.trainer import Trainer
from rlvr.workflow import spec_files

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Size:
    """How much is measured, and in which environment TRL and verl are (None: they are left out)."""

    python: str | None
    scale: str = "laptop"
    dry: str = "paper"  # the scale of dry runs
    rounds: int = 3  # of all that is measured in turn
    steps: int = 12  # of RL, measured after two to warm up
    whole: int = 200  # steps of a run as a whole process
    programs: int = 50  # steps with programs in the sandbox
    draws: int = 5  # of an evaluation, by each engine
    layers: int = 30  # of the wide model that samples
    prompts: int = 8192  # of a batch of weights
    repeats: int = 21  # of such a batch
    integers: int = 200_000  # answers
    latex: int = 40  # problems with LaTeX answers, of 16 rollouts each
    tests: int = 20  # of a program
    judged: int = 60  # programs
    resamples: int = 9999  # of the bootstrap

    @classmethod
    def smoke(cls, python: str | None) -> Size:
        """The least that runs every line; its figures mean nothing."""
        least = {"rounds": 1, "steps": 1, "whole": 2, "programs": 2, "draws": 1, "layers": 1, "prompts": 8}
        judging = {"repeats": 1, "integers": 1600, "latex": 1, "tests": 2, "judged": 2, "resamples": 9}
        return cls(python, "smoke", "smoke", **least, **judging)


# ---- processes and their time ----


def call(*command: str) -> str:
    """What a command prints. Ends this process where it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def result(text: str) -> Any:
    """The JSON that a script has printed behind RESULT."""
    return json.loads(next(x for x in text.splitlines() if x.startswith("RESULT ")).removeprefix("RESULT "))


def cpu_of(*command: str) -> tuple[float, str]:
    """CPU seconds of a command with all its processes, and what it prints."""
    before = in_ended_children()
    text = call(*command)
    return in_ended_children() - before, text


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call in this process, and what it returns."""
    began = time.process_time()
    made = task()
    return time.process_time() - began, made


def in_ended_children() -> float:
    """CPU seconds so far of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_children() -> float:
    """CPU seconds so far of all processes that this one has started and that still run, with their ended children."""
    seconds = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            seconds += sum(child.cpu_times()[:4])
    return seconds


# ---- a base policy, and steps of RL ----


def spec_file(folder: Path, spec: Any) -> str:
    return spec_files.spec_file(spec.model_dump(mode="json"), Paths(str(folder), "laptop"), write=True)


def make_data(folder: Path, name: str, data: Any) -> Path:
    """The problems of a data set, made here."""
    call(sys.executable, "-m", "rlvr.data.prepare", "--spec", spec_file(folder, data), "--out", str(folder / name))
    return folder / name / "problems.jsonl"


def make_model(folder: Path, name: str, model: Any) -> Path:
    """The manifest of a model with random weights."""
    out = folder / name / "manifest.json"
    call(sys.executable, "-m", "rlvr.policies.build", "--spec", spec_file(folder, model), "--out", str(out))
    return out


def prepare(folder: Path, scale: str, paper: str = "ace", estimator: str = "grpo") -> tuple[RunSpec, Path, Path]:
    """A run of a scale, its base policy and its problems, made here."""
    plan = make_plan(ROOT, scale, [paper])
    spec = next(s for s in plan.runs.values() if s.estimator["name"] == estimator and not s.rollout.dynamic_sampling)
    problems = make_data(folder, "problems", spec.data)
    make_data(folder, "sft", spec.base.sft_data)
    sft = spec.base.start or spec.base  # what all seeds have in common, where each continues it
    model, base = make_model(folder, "model", spec.base.model), folder / "base" / "manifest.json"
    call(
        *(sys.executable, "-m", "rlvr.training.sft", "--spec", spec_file(folder, sft), "--model", str(model)),
        *("--demonstrations", str(folder / "sft" / "demonstrations.jsonl")),
        *("--out", str(base), "--state", str(folder / "base" / "state")),
    )
    return spec, base, problems


def own_steps(
    spec: RunSpec, base: Path, problems: Path, backend: str, precision: str, steps: int
) -> tuple[list[float], Trainer]:
    """CPU seconds of each step after two to warm up, and the trainer."""
    without_probe = spec.probe.model_copy(update={"problems": 0})
    rl = spec.rl.model_copy(update={"precision": precision, "backend": backend})
    policy, reference = (BACKENDS.load(backend).policy(base) for _ in range(2))
    made = spec.model_copy(update={"rl": rl, "probe": without_probe})
    trainer = Trainer(made, policy, reference, read_records(problems, Problem), [])
    seconds = [timed(trainer.advance)[0] for _ in range(steps + 2)]  # all of a step, its metrics included
    return seconds[2:], trainer

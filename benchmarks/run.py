"""`make bench`: the figures of docs/benchmarks.md, measured here and now.

Ratios are of runs side by side in time; RL steps are of CPU time, since both sides have one thread and other work on a
machine moves the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from rlvr import provenance
from rlvr.config.paths import Paths
from rlvr.planning.expansion import make_plan
from rlvr.policies.store import load
from rlvr.records import Problem, read_records
from rlvr.training.deterministic import one_thread
from rlvr.training.trainer import Trainer
from rlvr.workflow import spec_files

ROOT = Path(__file__).resolve().parents[1]
STEPS = 12  # measured, after two to warm up
ROUNDS = 3  # of RL steps, ours and TRL's in turn


def call(*command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def spec_file(folder: Path, spec) -> str:
    return spec_files.spec_file(spec.model_dump(mode="json"), Paths(str(folder), "laptop"), write=True)


def prepare(folder: Path):
    """The laptop scale's data and base policy, from results/ where they have been made, else made here."""
    plan = make_plan(ROOT, "laptop", ["ace"])
    spec = next(s for s in plan.runs.values() if s.estimator["name"] == "grpo" and not s.rollout.dynamic_sampling)
    problems = folder / "problems"
    for name, data in (("problems", spec.data), ("sft", spec.base.sft_data)):
        call(sys.executable, "-m", "rlvr.data.prepare", "--spec", spec_file(folder, data), "--out", str(folder / name))
    model, base = folder / "model" / "manifest.json", folder / "base" / "manifest.json"
    call(sys.executable, "-m", "rlvr.policies.build", "--spec", spec_file(folder, spec.base.model), "--out", str(model))
    call(
        *(sys.executable, "-m", "rlvr.training.sft", "--spec", spec_file(folder, spec.base), "--model", str(model)),
        *("--demonstrations", str(folder / "sft" / "demonstrations.jsonl")),
        *("--out", str(base), "--state", str(folder / "base" / "state")),
    )
    return spec, base, problems / "problems.jsonl"


def own_steps(spec, base: Path, problems: Path, precision: str) -> list[float]:
    without_probe = spec.probe.model_copy(update={"problems": 0})
    spec = spec.model_copy(update={"rl": spec.rl.model_copy(update={"precision": precision}), "probe": without_probe})
    trainer = Trainer(spec, load(base), load(base), read_records(problems, Problem), [])
    seconds = []
    for _ in range(STEPS + 2):  # all of a step, its metrics included
        began = time.process_time()
        trainer.advance()
        seconds.append(time.process_time() - began)
    return seconds[2:]


def trl_steps(python: str, spec, base: Path, problems: Path, bf16: bool, folder: Path) -> list[float]:
    settings = {
        "prompts": spec.rl.prompts_per_step,
        "minibatch": spec.rl.prompts_per_minibatch,
        "samples": spec.rollout.samples_per_prompt,
        "max_tokens": spec.rollout.max_response_tokens,
        "lr": spec.rl.learning_rate,
        "beta": spec.loss.kl_coefficient,
        "steps": STEPS + 3,
        "bf16": bf16,
    }
    text = call(
        *(python, "benchmarks/trl_step.py", "--source", str(ROOT / "src"), "--policy", str(base.parent / "policy")),
        *("--problems", str(problems), "--settings", json.dumps(settings), "--scratch", str(folder / "trl")),
    )
    line = next(line for line in text.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))[2:]


def weights(python: str) -> None:
    """Every method on 8,192 x 16 rollouts, and verl's own functions, in one process."""
    text = call(
        *(python, "benchmarks/verl_weights.py", "--source", str(ROOT / "src")),
        *("--prompts", "8192", "--rollouts", "16", "--repeats", "21"),
    )
    found = json.loads(next(x for x in text.splitlines() if x.startswith("RESULT ")).removeprefix("RESULT "))
    ours, verl = found["ours"], found["verl"]
    slowest = sorted(ours, key=ours.get, reverse=True)[:3]
    print(f"weights of 8,192 x 16 rollouts, {len(ours)} methods, one thread, median of 21, milliseconds (to reach: 5):")
    print("  slowest: " + ", ".join(f"{name} {ours[name]:.2f}" for name in slowest) + f"; grpo {ours['grpo']:.2f}")
    for name, value in verl.items():
        print(f"  verl 0.9.1 {name} {value:.0f}: {value / ours['grpo']:.0f} times ours")
    gap = found["largest_difference_grpo_unbiased"]
    print(f"  (to reach, against the first: at least 100; largest difference of the weights {gap:.1e})")


def dry_run(folder: Path) -> float:
    began = time.perf_counter()
    call(
        *(sys.executable, "-m", "snakemake", "-n", "--quiet", "all", "--cores", "1"),
        *("--config", "scale=paper", f"results={folder / 'none'}", "--", "paper_ace"),
    )
    return time.perf_counter() - began


def theory(folder: Path) -> float:
    began = time.perf_counter()
    call(
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--cores", "1", "--nolock"),
        *("--config", f"results={folder / 'theory'}", "--", "theory"),
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python of the environment that has TRL and verl")
    arguments = parser.parse_args()
    one_thread()
    machine = f"{provenance.processor()}, {os.cpu_count()} cores"
    print(f"machine: {machine}, Python {platform.python_version()}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = sorted(dry_run(folder) for _ in range(3))[1]
        print(f"snakemake -n paper_ace at paper scale: {seconds:.1f} s (median of 3; to reach: at most 5)")
        weights(arguments.python)
        print(call(sys.executable, "benchmarks/grading.py"), end="")
        print(f"snakemake theory: {theory(folder):.1f} s, start of snakemake included (to reach: at most 60)")
        spec, base, problems = prepare(folder)
        rows = spec.rl.prompts_per_step * spec.rollout.samples_per_prompt
        print(f"RL step, {rows} rollouts, one thread, medians of {STEPS} steps, CPU seconds:")
        for precision, least in (("float32", 3.5), ("bfloat16", 2.5)):
            ratios = []
            for _ in range(ROUNDS):
                ours = statistics.median(own_steps(spec, base, problems, precision))
                trl = trl_steps(arguments.python, spec, base, problems, precision == "bfloat16", folder)
                ratios.append(statistics.median(trl) / ours)
                print(
                    f"  {precision}: ours {ours:.3f}, TRL {statistics.median(trl):.3f}, {ratios[-1]:.2f} times",
                    flush=True,
                )
            middle = statistics.median(ratios)
            print(f"  TRL / ours, {precision}: {middle:.2f}, the median of {ROUNDS} (to reach: at least {least})")


if __name__ == "__main__":
    main()

"""`make bench`: the figures of docs/benchmarks.md, measured here and now.

Ratios are of runs side by side in time; RL steps and samples are of CPU time, since all sides have one thread and other
work on a machine moves the clock.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import torch

from rlvr import provenance
from rlvr.config.paths import Paths
from rlvr.config.registries import BACKENDS
from rlvr.planning.expansion import make_plan
from rlvr.policies.native.trained import NativeModel
from rlvr.records import Problem, read_records
from rlvr.sampling import engines
from rlvr.training import rollouts
from rlvr.training.deterministic import one_thread
from rlvr.training.trainer import Trainer
from rlvr.workflow import spec_files

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Size:
    """How much is measured, and in which environment TRL and verl are (None: they are left out)."""

    python: str | None
    scale: str = "laptop"
    dry: str = "paper"  # the scale of the dry run
    steps: int = 12  # of RL, measured after two to warm up
    programs: int = 50  # the same with programs in the sandbox
    rounds: int = 3  # of RL steps, ours and TRL's in turn, and of dry runs
    draws: int = 5  # of an evaluation, by each engine
    prompts: int = 8192  # of a batch of weights
    repeats: int = 21  # of such a batch

    @classmethod
    def smoke(cls, python: str | None) -> Size:
        """The least that runs every line; its figures mean nothing."""
        return cls(python, "smoke", "smoke", steps=1, programs=2, rounds=1, draws=1, prompts=8, repeats=1)


def call(*command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def spec_file(folder: Path, spec) -> str:
    return spec_files.spec_file(spec.model_dump(mode="json"), Paths(str(folder), "laptop"), write=True)


def prepare(folder: Path, scale: str, paper: str = "ace", estimator: str = "grpo"):
    """A run of a scale, its base policy and its problems, made here."""
    plan = make_plan(ROOT, scale, [paper])
    spec = next(s for s in plan.runs.values() if s.estimator["name"] == estimator and not s.rollout.dynamic_sampling)
    problems = folder / "problems"
    for name, data in (("problems", spec.data), ("sft", spec.base.sft_data)):
        call(sys.executable, "-m", "rlvr.data.prepare", "--spec", spec_file(folder, data), "--out", str(folder / name))
    sft = spec.base.start or spec.base  # what all seeds have in common, where each continues it
    model, base = folder / "model" / "manifest.json", folder / "base" / "manifest.json"
    call(sys.executable, "-m", "rlvr.policies.build", "--spec", spec_file(folder, spec.base.model), "--out", str(model))
    call(
        *(sys.executable, "-m", "rlvr.training.sft", "--spec", spec_file(folder, sft), "--model", str(model)),
        *("--demonstrations", str(folder / "sft" / "demonstrations.jsonl")),
        *("--out", str(base), "--state", str(folder / "base" / "state")),
    )
    return spec, base, problems / "problems.jsonl"


def own_steps(
    spec, base: Path, problems: Path, backend: str, precision: str, steps: int
) -> tuple[list[float], Trainer]:
    without_probe = spec.probe.model_copy(update={"problems": 0})
    rl = spec.rl.model_copy(update={"precision": precision, "backend": backend})
    policy, reference = (BACKENDS.load(backend).policy(base) for _ in range(2))
    made = spec.model_copy(update={"rl": rl, "probe": without_probe})
    trainer = Trainer(made, policy, reference, read_records(problems, Problem), [])
    seconds = []
    for _ in range(steps + 2):  # all of a step, its metrics included
        began = time.process_time()
        trainer.advance()
        seconds.append(time.process_time() - began)
    return seconds[2:], trainer


def verifying(folder: Path, size: Size) -> tuple[float, float]:
    """The verifier's share of a step of FADE's mean baseline with programs: on the clock, the median, and of CPU time.

    The sandbox's CPU time counts on both sides, its start on neither.
    """
    spec, base, problems = prepare(folder, size.scale, "fade", "dr_grpo")
    own, started = [], 0.0
    verify = rollouts.verify

    def timed(*arguments):
        nonlocal started
        started = in_sandboxes() if len(own) == 2 else started  # after the steps to warm up
        began = time.process_time()
        verdicts = verify(*arguments)
        own.append(time.process_time() - began)
        return verdicts

    rollouts.verify = timed
    seconds, trainer = own_steps(spec, base, problems, "native", "float32", size.programs)
    rollouts.verify = verify
    sandboxes = in_sandboxes() - started
    trainer.verifier.close()
    clock = statistics.median(row["timing"]["verify"] / row["timing"]["step"] for row in trainer.metrics[2:])
    return clock, (sum(own[2:]) + sandboxes) / (sum(seconds) + sandboxes)


def in_sandboxes() -> float:
    """CPU seconds so far of all processes that this one has started and that still run, with their ended children."""
    return sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))


def floor(trainer: Trainer) -> tuple[float, float]:
    """Seconds that the products of a step take at the core's rate, and the rate in GFLOP/s.

    A step computes each node of its trie five times over: sampling, reference, forward and twice backward. Attention,
    about a tenth, is left out.
    """
    forward = trainer.forward
    assert isinstance(forward, NativeModel)
    trainer.gather()
    weights = forward.state_dict()
    products = sum(tensor.numel() for tensor in weights.values() if tensor.ndim == 2)  # the head's are the embedding's
    a, b = (torch.randn(2048, 64), torch.randn(64, 256))
    out, rates = torch.empty(2048, 256), []
    for _ in range(9):
        began = time.process_time()
        for _ in range(40):
            torch.mm(a, b, out=out)
        rates.append(40 * 2 * 2048 * 64 * 256 / (time.process_time() - began) / 1e9)
    rate = statistics.median(rates)
    return 5 * 2 * products * trainer.reference.engine.nodes / rate / 1e9, rate


def samples(spec, base: Path, folder: Path, size: Size) -> None:
    """The hard benchmark's evaluation by the native engine and by torch, in turn; and the CPU of a whole process."""
    plan = make_plan(ROOT, size.scale, ["ace"])
    evaluations = {one.data.name: one for one in plan.evaluations.values()}
    hard = max(evaluations.values(), key=lambda one: one.data.levels)
    sets = [folder / name / "problems.jsonl" for name in evaluations]
    for evaluation, path in zip(evaluations.values(), sets, strict=True):
        asked = spec_file(folder, evaluation.data)
        call(sys.executable, "-m", "rlvr.data.prepare", "--spec", asked, "--out", str(path.parent))
    both = folder / "both.jsonl"
    lines = [line for path in sets for line in path.read_text().splitlines(keepends=True)]
    both.write_text("".join(lines[:180]))
    problems = read_records(folder / hard.data.name / "problems.jsonl", Problem)
    drawn = {name: engines.load(name, base, hard.sampling) for name in ("native", "in_process")}
    seconds: dict[str, list[float]] = {name: [] for name in drawn}
    texts = {}
    for _ in range(size.draws):
        for name, engine in drawn.items():
            began = time.process_time()
            done = engine.draw(problems, 0, hard.sampling.samples)
            seconds[name].append(time.process_time() - began)
            texts[name] = [sampled.completion.text for sampled in done]
    native, torchs = (statistics.median(seconds[name]) for name in ("native", "in_process"))
    same = sum(a == b for a, b in zip(texts["native"], texts["in_process"], strict=True))
    print(
        f"evaluation, {len(problems)} problems x {hard.sampling.samples}, texts included: native {native:.3f} CPU s, "
        f"torch {torchs:.3f}, {torchs / native:.1f} times (to reach: 4); {same} of {len(texts['native'])} texts equal"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(
        *(sys.executable, "-m", "rlvr.sampling.generate", "--spec", spec_file(folder, hard), "--policy", str(base)),
        *("--problems", str(both), "--out", str(folder / "c.jsonl.gz"), "--tokens", str(folder / "t.jsonl.gz")),
        *("--state", str(folder / "generate")),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds_of = sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))
    count = len(both.read_text().splitlines())
    print(f"a `generate` process, {count} x {hard.sampling.samples}: {seconds_of:.2f} CPU s (to reach: 1)")


def trl_steps(spec, base: Path, problems: Path, bf16: bool, folder: Path, size: Size) -> list[float]:
    if size.python is None:
        return [math.nan]
    settings = {
        "prompts": spec.rl.prompts_per_step,
        "minibatch": spec.rl.prompts_per_minibatch,
        "samples": spec.rollout.samples_per_prompt,
        "max_tokens": spec.rollout.max_response_tokens,
        "lr": spec.rl.learning_rate,
        "beta": spec.loss.kl_coefficient,
        "steps": size.steps + 3,
        "bf16": bf16,
        "verifier": spec.data.verifier,
    }
    text = call(
        *(size.python, "benchmarks/trl_step.py", "--source", str(ROOT / "src")),
        *("--policy", str(base.parent / "policy"), "--problems", str(problems)),
        *("--settings", json.dumps(settings), "--scratch", str(folder / "trl")),
    )
    line = next(line for line in text.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))[2:]


def weights(folder: Path, size: Size) -> None:
    """Every method on 8,192 x 16 rollouts, and verl's own functions, in one process."""
    text = call(
        *(size.python or sys.executable, "benchmarks/verl_weights.py", "--source", str(ROOT / "src")),
        *("--prompts", str(size.prompts), "--rollouts", "16", "--repeats", str(size.repeats)),
        *(["--without-verl"] if size.python is None else []),
    )
    found = json.loads(next(x for x in text.splitlines() if x.startswith("RESULT ")).removeprefix("RESULT "))
    ours, verl = found["ours"], found["verl"]
    slowest = sorted(ours, key=ours.get, reverse=True)[:3]
    batch, repeats = f"{size.prompts:,} x 16 rollouts", f"median of {size.repeats}"
    print(f"weights of {batch}, {len(ours)} methods, one thread, {repeats}, milliseconds (to reach: 5):")
    print("  slowest: " + ", ".join(f"{name} {ours[name]:.2f}" for name in slowest) + f"; grpo {ours['grpo']:.2f}")
    for name, value in verl.items():
        print(f"  verl 0.9.1 {name} {value:.0f}: {value / ours['grpo']:.0f} times ours")
    if size.python is None:
        return
    gap = found["largest_difference_grpo_unbiased"]
    print(f"  (to reach, against the first: at least 100; largest difference of the weights {gap:.1e})")


def dry_run(folder: Path, scale: str) -> float:
    began = time.perf_counter()
    call(
        *(sys.executable, "-m", "snakemake", "-n", "--quiet", "all", "--cores", "1"),
        *("--config", f"scale={scale}", f"results={folder / 'none'}", "--", "paper_ace"),
    )
    return time.perf_counter() - began


def theory(folder: Path) -> float:
    began = time.perf_counter()
    call(
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--cores", "1", "--nolock"),
        *("--config", f"results={folder / 'theory'}", "--", "theory"),
    )
    return time.perf_counter() - began


def commands(folder: Path, size: Size) -> None:
    seconds = statistics.median(dry_run(folder, size.dry) for _ in range(size.rounds))
    print(f"snakemake -n paper_ace at {size.dry} scale: {seconds:.1f} s (median of {size.rounds}; to reach: at most 5)")
    print(f"snakemake theory: {theory(folder):.1f} s, start of snakemake included (to reach: at most 60)")


def judging(folder: Path, size: Size) -> None:
    print(call(sys.executable, "benchmarks/grading.py", *(["--smoke"] if size.scale == "smoke" else [])), end="")
    clock, cpu = verifying(folder, size)
    print(
        f"the verifier's share of a step with programs: {clock:.1%} of the clock, {cpu:.1%} of CPU time "
        "(to reach: at most 15 %)"
    )


def policies(folder: Path, size: Size) -> None:
    """Samples and RL steps of one base policy."""
    spec, base, problems = prepare(folder, size.scale)
    samples(spec, base, folder, size)
    rl_steps(spec, base, problems, folder, size)


def rl_steps(spec, base: Path, problems: Path, folder: Path, size: Size) -> None:
    """RL steps of the native engine, of torch and of TRL, in turn."""
    rows = spec.rl.prompts_per_step * spec.rollout.samples_per_prompt
    print(f"RL step, {rows} rollouts, one thread, medians of {size.steps} steps, CPU seconds:")
    for precision, who in (("float32", {"native": 10.0, "in_process": 3.5}), ("bfloat16", {"in_process": 2.5})):
        ratios: dict[str, list[float]] = {backend: [] for backend in who}
        for _ in range(size.rounds):
            ours, least = {}, (0.0, 0.0)
            for backend in who:
                seconds, trainer = own_steps(spec, base, problems, backend, precision, size.steps)
                ours[backend] = statistics.median(seconds)
                least = floor(trainer) if backend == "native" else least
            trl = statistics.median(trl_steps(spec, base, problems, precision == "bfloat16", folder, size))
            texts = []
            for backend, seconds in ours.items():
                ratios[backend].append(trl / seconds)
                texts.append(f"{backend} {seconds:.3f} ({trl / seconds:.2f} times)")
            bound = f", products alone {least[0]:.3f} at {least[1]:.0f} GFLOP/s" if least[1] else ""
            print(f"  {precision}: TRL {trl:.3f}, {', '.join(texts)}{bound}", flush=True)
        for backend, goal in who.items():
            middle = statistics.median(ratios[backend])
            print(f"  TRL / {backend}, {precision}: {middle:.2f}, the median of {size.rounds} (to reach: {goal})")
        if len(who) > 1:
            torchs = statistics.median(np.divide(ratios["native"], ratios["in_process"]))
            print(f"  in_process / native, {precision}: {torchs:.2f}")


PARTS = {"commands": commands, "weights": weights, "judging": judging, "policies": policies}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="Python of the environment that has TRL and verl; without it: neither of them")
    parser.add_argument("--only", choices=PARTS, help="one part instead of all")
    parser.add_argument("--smoke", action="store_true", help="the least that runs every line; figures mean nothing")
    arguments = parser.parse_args()
    size = Size.smoke(arguments.python) if arguments.smoke else Size(arguments.python)
    one_thread()
    machine = f"{provenance.processor()}, {os.cpu_count()} cores"
    print(f"machine: {machine}, Python {platform.python_version()}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as name:
        for part in [arguments.only] if arguments.only else PARTS:
            PARTS[part](Path(name) / part, size)


if __name__ == "__main__":
    main()

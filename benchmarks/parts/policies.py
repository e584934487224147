"""Samples, RL steps and a whole run of one base policy, against torch and TRL."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch
from comparison import Figure
from measuring import (
    ROOT,
    Size,
    call,
    cpu_of,
    make_data,
    make_model,
    own_steps,
    prepare,
    result,
    spec_file,
    timed,
)

from rlvr.config.schema.settings import Evaluation
from rlvr.config.schema.specs import RunSpec
from rlvr.planning.expansion import make_plan
from rlvr.policies.native import library
from rlvr.policies.native.trained import NativeModel
from rlvr.records import Problem, read_records
from rlvr.sampling import engines
from rlvr.training.trainer import Trainer

ENGINES = ("native", "in_process")
WIDE = {"architecture": "llama", "hidden_size": 576, "heads": 9, "kv_heads": 3, "intermediate_size": 1536}


def measure(folder: Path, size: Size) -> Iterator[Figure]:
    spec, base, problems = prepare(folder, size.scale)
    yield from evaluations(base, folder, size)
    yield from wide_samples(spec, problems, folder, size)
    yield from whole_run(spec, base, problems, folder, size)
    yield from rl_steps(spec, base, problems, folder, size)


# ---- samples ----


def evaluations(base: Path, folder: Path, size: Size) -> Iterator[Figure]:
    """The hard benchmark's evaluation by the native engine and by torch, in turn; and the CPU of a whole process."""
    plan = make_plan(ROOT, size.scale, ["ace"])
    planned = {one.data.name: one for one in plan.evaluations.values()}
    hard = max(planned.values(), key=lambda one: one.data.levels)
    sets = {name: make_data(folder, name, one.data) for name, one in planned.items()}
    problems = read_records(sets[hard.data.name], Problem)
    seconds, same = in_turn(base, hard.sampling, problems, size.draws)
    words = f"evaluation, {len(problems)} problems x {hard.sampling.samples}, texts included"
    yield from against_torch("evaluation", words, seconds, goal=4.0)
    yield Figure("evaluation_equal", same, "share", f"{words}: texts equal to torch's", at_least=1)
    both = folder / "both.jsonl"
    lines = [line for path in sets.values() for line in path.read_text().splitlines(keepends=True)][:180]
    both.write_text("".join(lines))
    spent, _ = cpu_of(
        *(sys.executable, "-m", "rlvr.sampling.generate", "--spec", spec_file(folder, hard), "--policy", str(base)),
        *("--problems", str(both), "--out", str(folder / "c.jsonl.gz"), "--tokens", str(folder / "t.jsonl.gz")),
        *("--state", str(folder / "generate")),
    )
    yield Figure("generate", spent, "CPU s", f"a `generate` process, {len(lines)} x {hard.sampling.samples}", at_most=1)


def wide_samples(spec: RunSpec, problems: Path, folder: Path, size: Size) -> Iterator[Figure]:
    """Samples of a model as wide and deep as SmolLM2-135M, of random weights and the task's small vocabulary."""
    settings = spec.base.model.model_copy(update={**WIDE, "name": "wide", "layers": size.layers})
    asked = Evaluation(temperature=0.7, top_p=0.95, samples=8, max_response_tokens=24, seed=1)
    base = make_model(folder, "wide", settings)
    seconds, _ = in_turn(base, asked, read_records(problems, Problem)[:4], size.rounds)
    yield from against_torch("evaluation_576", f"4 x 8 samples of 24 tokens, width 576, {size.layers} layers", seconds)


def in_turn(base: Path, asked: Evaluation, problems: list[Problem], rounds: int) -> tuple[np.ndarray, float]:
    """CPU seconds (round, engine) of drawing, and the share of equal texts."""
    drawn, seconds, texts = [engines.load(name, base, asked) for name in ENGINES], [], []
    for _ in range(rounds):
        each = [timed(lambda engine=engine: engine.draw(problems, 0, asked.samples)) for engine in drawn]
        seconds.append([spent for spent, _ in each])
        texts = [[one.completion.text for one in done] for _, done in each]
    return np.array(seconds), float(np.mean([a == b for a, b in zip(*texts, strict=True)]))


def against_torch(name: str, words: str, seconds: np.ndarray, goal: float | None = None) -> Iterator[Figure]:
    ratio = float(np.median(seconds[:, 1] / seconds[:, 0]))
    yield Figure(f"{name}_native", float(np.median(seconds[:, 0])), "CPU s", f"{words}, native engine")
    yield Figure(f"{name}_ratio", ratio, "times", f"{words}: torch / native engine", at_least=goal, judged=True)


# ---- a whole run ----


def whole_run(spec: RunSpec, base: Path, problems: Path, folder: Path, size: Size) -> Iterator[Figure]:
    """A run as the rule `rl` makes it: CPU time, the clock, and the share of all that is not a step."""
    rl = spec.rl.model_copy(update={"steps": size.whole})
    spec = spec.model_copy(update={"rl": rl})
    execution = next(iter(make_plan(ROOT, size.scale, ["ace"]).executions.values()))
    validation, out = make_data(folder, "validation", spec.validation), folder / "run"
    arguments = (spec_file(folder, spec), base, problems, validation, out / "manifest.json", out / "state")
    began = time.perf_counter()
    command = (*arguments, spec_file(folder, execution))
    cpu, text = cpu_of(sys.executable, "benchmarks/timed_run.py", *map(str, command))
    clock, steps = time.perf_counter() - began, result(text)
    run = f"a GRPO run of {size.whole} steps, start, probes and checkpoints included"
    yield Figure("run", cpu, "CPU s", run)
    yield Figure("run_clock", clock, "s", f"{run}, by the clock")
    beyond = 1 - steps["cpu"] / cpu
    yield Figure("run_beyond_steps", beyond, "share", "of its CPU time beyond its steps", at_most=0.1, judged=True)


# ---- RL steps ----


def rl_steps(spec: RunSpec, base: Path, problems: Path, folder: Path, size: Size) -> Iterator[Figure]:
    """RL steps of the native engine, of torch and of TRL, in turn."""
    sides = {"float32": ("native", "in_process"), "bfloat16": ("in_process",)}
    goals = {("native", "float32"): 12.0 if library.level() == "v4" else 10.0}
    goals |= {("in_process", "float32"): 3.5, ("in_process", "bfloat16"): 2.5}
    rows = spec.rl.prompts_per_step * spec.rollout.samples_per_prompt
    for precision, backends in sides.items():
        seconds: dict[str, list[float]] = {side: [] for side in (*backends, "TRL")}
        floors: list[tuple[float, float]] = []
        for _ in range(size.rounds):
            for backend in backends:
                spent, trainer = own_steps(spec, base, problems, backend, precision, size.steps)
                seconds[backend].append(median(spent))
                floors += [floor(trainer)] if backend == "native" else []
            if size.python is not None:
                theirs = trl_steps(size.python, spec, base, problems, precision == "bfloat16", folder, size)
                seconds["TRL"].append(median(theirs))
        step = f"an RL step, {rows} rollouts, {precision}, one thread"
        for side in (side for side in seconds if seconds[side]):
            yield Figure(f"step_{side.lower()}_{precision}", median(seconds[side]), "CPU s", f"{step}: {side}")
        for backend in backends if size.python is not None else ():
            ratio = float(np.median(np.divide(seconds["TRL"], seconds[backend])))
            words, goal = f"{step}: TRL 1.16 / {backend}", goals[backend, precision]
            yield Figure(f"trl_over_{backend}_{precision}", ratio, "times", words, at_least=goal, judged=True)
        if "native" in backends:
            yield from of_native(step, seconds, floors)


def of_native(step: str, seconds: dict[str, list[float]], floors: list[tuple[float, float]]) -> Iterator[Figure]:
    """The engine's step against torch's, and against its products alone."""
    ratio = float(np.median(np.divide(seconds["in_process"], seconds["native"])))
    yield Figure("in_process_over_native", ratio, "times", f"{step}: torch / native engine", judged=True)
    share = float(np.median(np.divide([least for least, _ in floors], seconds["native"])))
    words = "its bare products' share of the native engine's step"
    yield Figure("products_share", share, "share", words, at_least=0.65, judged=True)
    rate = median(rate for _, rate in floors)
    yield Figure("products_rate", rate, "GFLOP/s", "of these products, one core, by torch")


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
        seconds, _ = timed(lambda: [torch.mm(a, b, out=out) for _ in range(40)])
        rates.append(40 * 2 * 2048 * 64 * 256 / seconds / 1e9)
    rate = median(rates)
    return 5 * 2 * products * trainer.reference.engine.nodes / rate / 1e9, rate


def trl_steps(
    python: str, spec: RunSpec, base: Path, problems: Path, bf16: bool, folder: Path, size: Size
) -> list[float]:
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
        *(python, "benchmarks/trl_step.py", "--source", str(ROOT / "src")),
        *("--policy", str(base.parent / "policy"), "--problems", str(problems)),
        *("--settings", json.dumps(settings), "--scratch", str(folder / "trl")),
    )
    return result(text)[2:]

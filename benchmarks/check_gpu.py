"""`make check-gpu`: everything that only a GPU can show, in blocks of at most nine minutes, without network.

Each block prints its figures as lines for docs/benchmarks.md. The model has the published 0.5B shape and random
weights, whose responses hardly ever end by themselves: the longest case. `python benchmarks/check_gpu.py step` runs one
block; `--device cpu --size tiny` runs the script itself where there is no GPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median

import torch
from gpu import NO_GPU, ROOT, Coin, Size, machine, problems_of, random_policy, sampling, size_of, table, timed

from rlvr import provenance
from rlvr.config.schema.specs import RunSpec
from rlvr.cost.hardware import read
from rlvr.cost.memory import of_run
from rlvr.planning.expansion import make_plan
from rlvr.policies.decoder import Decoder
from rlvr.policies.transformers_pass import TransformersPass
from rlvr.training.batches import Groups, autocast, chunks, token_logprobs
from rlvr.training.deterministic import one_thread
from rlvr.training.forward import Microbatch, Pass
from rlvr.training.trainer import Trainer

LIMIT = 540  # seconds of a block
MIB = 2**20


def peak_mib(device: str) -> float:
    """The largest memory since the last call, in MiB; 0 on a CPU, which counts none."""
    if device == "cpu":
        return 0.0
    peak = torch.cuda.max_memory_allocated() / MIB
    torch.cuda.reset_peak_memory_stats()
    return peak


def grpo(scale: str) -> RunSpec:
    plan = make_plan(ROOT, scale, ["ace"])
    return next(s for s in plan.runs.values() if s.estimator["name"] == "grpo" and not s.rollout.dynamic_sampling)


def scale_run(size: Size, **rl: object) -> RunSpec:
    """GRPO of the ACE paper's file at the size's scale, in the size to be measured."""
    spec = grpo(size.scale)
    rollout = {"max_response_tokens": size.response_tokens, "samples_per_prompt": size.samples}
    changes = {
        "rl": {"prompts_per_step": size.prompts, "prompts_per_minibatch": size.prompts // 2, **rl},
        "rollout": rollout,
        "probe": {"problems": 0},
    }
    sized = {key: getattr(spec, key).model_copy(update=new) for key, new in changes.items()}
    return spec.model_copy(update={**sized, "data": grpo("gpu").data})  # random responses have no working to check


def trainer_of(size: Size, device: str, **settings: object) -> Trainer:
    policy, reference = (random_policy(size, device, torch.float32) for _ in range(2))
    trainer = Trainer(scale_run(size, **settings), policy, reference, problems_of(size), [], tokens_per_gpu=TOKENS)
    trainer.verifier = Coin()  # type: ignore[assignment]
    return trainer


TOKENS = 16384  # execution.tokens_per_gpu


def planned_mib(spec: RunSpec, size: Size) -> dict[str, float]:
    """The plan's memory of each phase, without what torch does not count (CUDA's own)."""
    hardware = read(ROOT / "config")
    execution = next(iter(make_plan(ROOT, size.scale, ["ace"]).executions.values()))
    memory = of_run(spec, execution, size.shape, hardware.devices["h100"], hardware.assumptions, 1)
    return {phase: (sum(parts.values()) - parts["CUDA and NCCL"]) / MIB for phase, parts in memory.phases.items()}


def step(size: Size, device: str) -> Iterator[str]:
    """The trainer in process at scale `gpu`: seconds by phase, and memory against the plan's model."""
    yield from _step(size, device)


def pretrained(size: Size, device: str) -> Iterator[str]:
    """The same at scale `pretrained-gpu`: SmolLM2-135M's shape, batches of that scale, in float32."""
    spec, name = grpo("pretrained-gpu"), "smollm2-135m-instruct"
    here = replace(size, scale="pretrained-gpu")
    if device == "cuda":
        shape, batch = read(ROOT / "config").shapes[name], (spec.rl.prompts_per_step, spec.rollout.samples_per_prompt)
        here = replace(here, model=name, shape=shape, prompts=batch[0], samples=batch[1])
        here = replace(here, prompt_tokens=64, response_tokens=spec.rollout.max_response_tokens)
    yield from _step(here, device)


def _step(size: Size, device: str) -> Iterator[str]:
    trainer = trainer_of(size, device)
    peak_mib(device)
    trainer.advance()  # warms up
    peak_mib(device)
    rows, peaks = [], {"gather": 0.0, "learn": 0.0}
    for _ in range(3):
        gathered = trainer.gather()
        peaks["gather"] = max(peaks["gather"], peak_mib(device))
        rows.append(trainer.learn(gathered))
        peaks["learn"] = max(peaks["learn"], peak_mib(device))
    yield "| phase | seconds |"
    yield "|---|---|"
    for phase in ("rollout", "reference", "update", "step"):
        yield f"| {phase} | {median(row['timing'][phase] for row in rows):.2f} |"
    tokens = median(row["response_tokens"] for row in rows) * size.rows
    yield f"{size.prompts} prompts x {size.samples} responses, {tokens:,.0f} response tokens a step"
    yield f"loss {rows[-1]['loss']:.3g}, gradient norm {rows[-1]['grad_norm']:.3g}"
    planned = planned_mib(trainer.spec, size)
    yield "| largest memory, MiB | measured | planned | planned / measured |"
    yield "|---|---|---|---|"
    for what, phases in {"gather": ("rollouts", "log-probabilities"), "learn": ("update",)}.items():
        expected, measured = max(planned[phase] for phase in phases), peaks[what]
        ratio = f"{expected / measured:.2f}" if measured else "not counted"
        yield f"| {', '.join(phases)} | {measured:,.0f} | {expected:,.0f} | {ratio} |"


def rows_of(size: Size, device: str, tokens: int) -> Groups:
    """Random prompts and responses of full length, at least one, `tokens` tokens in all."""
    count, length = max(1, tokens // (size.prompt_tokens + size.response_tokens)), size.response_tokens
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randint(4, size.shape.vocabulary, shape, generator=generator).to(device)  # noqa: E731
    full = torch.full((count,), size.prompt_tokens, device=device)
    return Groups(
        draw(count, size.prompt_tokens), full, draw(count, 1, length), torch.full((count, 1), length).to(device)
    )


def update_seconds(forward: Pass, groups: Groups, limits: Microbatch, device: str) -> tuple[int, float]:
    """Response tokens and seconds of forward and backward passes over the rows."""

    def passes() -> int:
        for chunk in chunks(groups, limits):
            with autocast("bfloat16", torch.device(device)):
                logprobs_MT = token_logprobs(forward, chunk)
            logprobs_MT.sum().backward()
        return int(groups.lengths_PG.sum())

    return timed(device, passes)


def attention(size: Size, device: str) -> Iterator[str]:
    """SDPA with recomputed layers against the decoder's explicit attention, by length."""
    yield "| response tokens | pass | tokens/s | largest memory, MiB |"
    yield "|---|---|---|---|"
    policy = random_policy(size, device, torch.float32)
    for length in (size.response_tokens // 4, size.response_tokens // 2, size.response_tokens):
        here = replace(size, response_tokens=length)
        groups = rows_of(here, device, 4 * (here.prompt_tokens + length))
        for name, forward in (("transformers", TransformersPass(policy.model)), ("decoder", Decoder(policy.model))):
            yield f"| {length} | {name} | {_measured(forward, groups, Microbatch(), device)} |"


def microbatch(size: Size, device: str) -> Iterator[str]:
    """Speed and memory by the tokens of a microbatch."""
    yield "| tokens a microbatch | tokens/s | largest memory, MiB |"
    yield "|---|---|---|"
    policy = random_policy(size, device, torch.float32)
    forward, row = TransformersPass(policy.model), size.prompt_tokens + size.response_tokens
    groups = rows_of(size, device, 64 * row)
    for rows in (2, 4, 8, 16, 32, 64):
        yield f"| {rows * row:,} | {_measured(forward, groups, Microbatch(tokens=rows * row), device)} |"


def _measured(forward: Pass, groups: Groups, limits: Microbatch, device: str) -> str:
    """The cells of tokens a second and largest memory, or that memory did not suffice."""
    try:
        update_seconds(forward, groups, limits, device)  # warms up
        peak_mib(device)
        tokens, seconds = update_seconds(forward, groups, limits, device)
    except torch.OutOfMemoryError:
        return "out of memory | "
    finally:
        for parameter in forward.model.parameters():
            parameter.grad = None
    return f"{tokens / seconds:,.0f} | {peak_mib(device):,.0f}"


def reference(size: Size, device: str) -> Iterator[str]:
    """Overconfidence at step 1 under bfloat16, where policy and reference are equal: it must be 0."""
    trainer = trainer_of(replace(size, prompts=max(2, size.prompts // 4)), device, precision="bfloat16")
    row = trainer.advance()
    yield f"OEF at step 1 under bfloat16: {row['oef']:g} (0 expected)"
    yield f"sampler against trainer's pass: {row['logprob_gap']:.3g} nats a token"


def sampler(size: Size, device: str) -> Iterator[str]:
    """The sampler in process against transformers' generate."""
    figures, checks = sampling(size, device, "bfloat16" if device == "cuda" else "float32", 3)
    yield from table(figures, None)
    yield "; ".join(f"{key}: {value:.2g}" for key, value in checks.items())


BLOCKS: dict[str, Callable[[Size, str], Iterator[str]]] = {
    "step": step,
    "pretrained": pretrained,
    "attention": attention,
    "microbatch": microbatch,
    "reference": reference,
    "sampler": sampler,
}


def run_block(name: str, size: Size, device: str) -> None:
    one_thread()
    warnings.filterwarnings("ignore", message=".*deterministic.*")
    began = time.perf_counter()
    print(f"### {name}: {BLOCKS[name].__doc__}\n\n{machine(device)}; commit {provenance.commit()}; {size.model}\n")
    for line in BLOCKS[name](size, device):
        print(line, flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s)\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("blocks", nargs="*", help=f"default: all ({', '.join(BLOCKS)})")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["0.5b", "tiny"], default="0.5b")
    arguments = parser.parse_args()
    if unknown := set(arguments.blocks) - set(BLOCKS):
        parser.error(f"no block {', '.join(sorted(unknown))}; valid: {', '.join(BLOCKS)}")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print(NO_GPU, file=sys.stderr)
        sys.exit(2)
    if len(arguments.blocks) == 1:
        size = size_of(arguments.size, read(ROOT / "config"))
        if arguments.size == "0.5b":
            size = replace(size, prompts=64, samples=8, prompt_tokens=150, response_tokens=1024)
        run_block(arguments.blocks[0], size, arguments.device)
        return
    failed = []
    for name in (
        arguments.blocks or BLOCKS
    ):  # each in its own process: memory starts empty, and one failure ends one block
        command = [sys.executable, __file__, name, "--device", arguments.device, "--size", arguments.size]
        try:
            code = subprocess.run(command, timeout=LIMIT).returncode
        except subprocess.TimeoutExpired:
            code = f"more than {LIMIT} s"
        failed += [f"{name} ({code})"] if code else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

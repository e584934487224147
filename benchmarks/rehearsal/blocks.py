"""The blocks of the rehearsal, with their seconds, and its command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WHOLE = 720  # seconds of all blocks as planned


@dataclass(frozen=True)
class Block:
    """A part of the rehearsal: seconds as planned, and the most that it may take."""

    name: str
    planned: int
    limit: int
    about: str


# The most telling first, so that a stop leaves it. Seconds as measured on an H200, but those of `sft` and `two`.
BLOCKS = {
    block.name: block
    for block in (
        Block("unpack", 25, 100, "check and unpack the site, compile it, make random weights"),
        Block("env", 10, 30, "GPU, driver, compute mode, compilers, memory, versions"),
        Block("imports", 25, 120, "what the stages import; the kernels of the stripped libraries"),
        Block(
            "kill",
            380,
            450,
            "two steps of ACE-GRPO by verl with vLLM's rollouts, killed in the second, continued",
        ),
        Block("sft", 80, 140, "SFT by verl"),
        Block("vllm", 130, 180, "an evaluation by vLLM: tokens per second, agreement with the trainer's pass"),
        Block("memory", 10, 40, "largest memory against the plan's model"),
        Block("rl", 210, 300, "the run of `kill` without a kill"),
        Block("two", 300, 420, "two runs side by side on the one GPU"),
    )
}
PLANNED = [name for name in BLOCKS if name not in ("rl", "two")]  # by default


def print_plan(names: list[str]) -> None:
    for name in names:
        block = BLOCKS[name]
        print(f"{name:8} {block.planned:4} s, at most {block.limit:3} s: {block.about}")
    print(f"{'all':8} {sum(BLOCKS[name].planned for name in names):4} s of {WHOLE}")


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    add: Callable[..., Any] = parser.add_argument
    add("--plan", action="store_true", help="print the seconds of each block and end")
    add("--blocks", default=",".join(PLANNED), help="of these and rl, two; default, in this order: %(default)s")
    add("--site", type=Path, help="folder of the chunks and SHA256SUMS of build.py")
    add("--overlay", type=Path, help="folder of further chunks, unpacked over the site (build.py --overlay)")
    add("--out", type=Path, default=Path("build/gpu/out"), help="folder for figures.txt and logs (%(default)s)")
    add("--work", type=Path, default=Path("/tmp/rlvr-rehearsal"), help="folder for everything else (%(default)s)")
    add("--kit", type=Path, help="folder of kit.py; default: the one of the chunks")
    add("--seconds", type=float, default=WHOLE, help="of all blocks: later ones are cut or skipped (%(default)s)")
    add("--slower", type=float, default=1.0, help="factor on the blocks' limits (%(default)s)")
    add("--python", default=sys.executable, help="starts all stages (this Python)")
    add("--vllm-python", help="starts vLLM's evaluation; default: --python")
    add("--cpu", action="store_true", help="try the script without a GPU: smoke scale, rollouts by transformers")
    add("--device", help="of config/hardware.yaml, for the plan's memory; default: h200 on an H200, else h100")
    change = parser.add_argument_group("changes")
    change.add_argument("--model", type=Path, help="folder of a real model with config, tokenizer and weights")
    change.add_argument("--reward", choices=["coin", "verified"], default="coin", help="of a response (%(default)s)")
    more: dict[str, Any] = {"action": "append", "default": [], "metavar": "KEY=VALUE"}
    change.add_argument("--set", help="of a specification, such as run.rl.steps=2, execution.attention=sdpa", **more)
    change.add_argument("--override", help="of verl's configuration for RL, applied last", **more)
    change.add_argument("--sft-override", help="of verl's configuration for SFT, applied last", **more)
    change.add_argument("--vllm", help="argument of vLLM's LLM for the evaluation, JSON or text", **more)
    change.add_argument("--env", help="environment variable of all stages", **more)
    change.add_argument("--attention-backend", help="of vLLM everywhere: TRITON_ATTN, FLEX_ATTENTION, FLASH_ATTN")
    change.add_argument("--vllm-eager", action="store_true", help="no compilation and no CUDA graphs in the evaluation")
    change.add_argument(
        "--weights-by-shm", action="store_true", help="weights to vLLM by shared memory, not CUDA's IPC"
    )
    change.add_argument("--stub", action="append", default=[], help="package to replace by an empty one, such as numba")
    change.add_argument("--share", type=float, default=0.2, help="gpu_memory_utilization of each of two runs")
    change.add_argument("--gap", type=float, default=0.1, help="largest logprob_gap of right weights (%(default)s)")
    return parser

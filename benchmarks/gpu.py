"""`make bench-gpu`: sampling and training in process on this machine's GPU, beside transformers' `generate`.

The model has a published one's shape and random weights, so nothing is downloaded; its responses differ from the first
token on and hardly ever end by themselves, the hard case for a sampler that shares what responses have in common.
Sampling is what evaluation does (`engines/in_process.py`), training what a run does (`training/rl.py`), with rewards by
the toss of a coin. Without a GPU it measures nothing; `--device cpu --size tiny` runs the script itself.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from zlib import crc32

import numpy as np
import torch
from transformers import GenerationConfig

from rlvr import provenance
from rlvr.config.schema.settings import Evaluation
from rlvr.config.schema.specs import RunSpec
from rlvr.cost.hardware import Device, Hardware, ModelShape, read
from rlvr.cost.model import Sampling, forward_flops, update_flops
from rlvr.data.tasks.operator_fill import generate_problems
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources
from rlvr.policies.sources.scratch import classes, scratch_policy
from rlvr.policies.store import Policy
from rlvr.records import Problem
from rlvr.sampling.engines import Sampled
from rlvr.sampling.engines.in_process import InProcess
from rlvr.training.deterministic import one_thread
from rlvr.training.trainer import Trainer
from rlvr.verifiers.pool import Errors, Verdict

ROOT = Path(__file__).resolve().parents[1]
NO_GPU = "no GPU here, nothing was measured (to run the script itself: --device cpu --size tiny)"


@dataclass(frozen=True)
class Size:
    """A model, and the batch that it samples and trains on."""

    model: str  # whose shape: a name of config/hardware.yaml
    shape: ModelShape
    prompts: int
    samples: int
    prompt_tokens: int
    response_tokens: int
    microbatch: int
    scale: str = "gpu"  # whose settings a training step has

    @property
    def rows(self) -> int:
        return self.prompts * self.samples


def size_of(name: str, hardware: Hardware) -> Size:
    if name == "tiny":
        shape = ModelShape(
            **{"architecture": "qwen2", "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 8},
            **{"intermediate_size": 64, "vocabulary": 512, "tie_embeddings": True},
        )
        return Size("a tiny Qwen2", shape, prompts=4, samples=4, prompt_tokens=16, response_tokens=12, microbatch=8)
    model = "Qwen/Qwen2.5-0.5B-Instruct"
    shape = hardware.shapes[model]
    return Size(model, shape, prompts=16, samples=16, prompt_tokens=128, response_tokens=512, microbatch=8)


@dataclass
class Figure:
    """Repeated measurements of one thing: response tokens, seconds, and the model's FLOPs that they need."""

    what: str
    precision: str
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    flops: list[float] = field(default_factory=list)

    def add(self, tokens: int, seconds: float, flops: float) -> None:
        self.tokens.append(tokens)
        self.seconds.append(seconds)
        self.flops.append(flops)

    @property
    def rates(self) -> list[float]:
        """Response tokens a second."""
        return [tokens / seconds for tokens, seconds in zip(self.tokens, self.seconds, strict=True)]

    def utilisation(self, device: Device | None) -> float | None:
        """Model FLOPs a second as a share of the device's peak, where that is known."""
        done = median(flops / seconds for flops, seconds in zip(self.flops, self.seconds, strict=True))
        return None if device is None else done / device.peak(self.precision)


def listed(name: str, devices: Iterable[str]) -> str | None:
    """The entry of config/hardware.yaml for a GPU's own name. Its peaks are of whole SXM parts: others have none."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return None if words & {"pcie", "nvl", "mig"} else next((key for key in devices if key in words), None)


def random_policy(size: Size, device: str, dtype: torch.dtype) -> Policy:
    """Random weights in a published shape, with the tokenizer of operator fill: ids beyond it decode to nothing."""
    tiny = scratch_policy(read_sources(ROOT, "smoke", ["ace"]).models["qwen2-tiny"])
    shape = size.shape
    config_class, model_class = classes(shape.architecture)
    config = config_class(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.intermediate_size,
        tie_word_embeddings=shape.tie_embeddings,
        max_position_embeddings=size.prompt_tokens + size.response_tokens,
        eos_token_id=tiny.eos,
        pad_token_id=tiny.pad,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = model_class(config).to(dtype)
    parameters = sum(p.numel() for p in model.parameters())
    if parameters != shape.parameters:
        raise ValueError(f"{size.model}: {parameters} parameters, config/hardware.yaml gives {shape.parameters}")
    return Policy(model.eval(), tiny.tokenizer, tiny.template)


def problems_of(size: Size) -> list[Problem]:
    """Operator-fill problems, each with a filling before it to the length of the size's prompts."""
    made = generate_problems("train", [3, 4, 5], size.prompts, None, np.random.default_rng(0))
    filling = size.prompt_tokens - 1  # <bos> is the first token
    return [
        Problem(p.id, " ".join([*["1"] * (filling - len(p.prompt.split())), p.prompt]), p.gold, p.level) for p in made
    ]


def work(size: Size, tokens: int, flops: Callable[[ModelShape, float, float], float]) -> float:
    """FLOPs over each prompt once and over all responses; `flops` is the cost model's, forward or update."""
    drawn = Sampling(size.rows, size.prompts, size.prompt_tokens, tokens / size.rows, size.response_tokens)
    prompts = flops(size.shape, size.prompts * size.prompt_tokens, size.prompt_tokens / 2)
    return flops(size.shape, drawn.tokens, drawn.seen) + prompts


def timed(device: str, task: Callable[[], int]) -> tuple[int, float]:
    """The tokens that it made, and its seconds, all work of the GPU included."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    began = time.perf_counter()
    tokens = task()
    wait()
    return tokens, time.perf_counter() - began


class Generate:
    """transformers' `generate` as it comes: left-padded prompts, G sequences each, cache, text at the end."""

    def __init__(self, policy: Policy, problems: list[Problem], size: Size):
        self.policy, self.size = policy, size
        prompts = policy.encode([problem.prompt for problem in problems])
        longest = max(map(len, prompts))
        where = policy.model.device
        self.tokens = torch.tensor([[policy.pad] * (longest - len(p)) + p for p in prompts], device=where)
        self.mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=where)
        self.settings = GenerationConfig(
            do_sample=True,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            max_new_tokens=size.response_tokens,
            num_return_sequences=size.samples,
            eos_token_id=policy.eos,
            pad_token_id=policy.pad,
        )

    @torch.no_grad()
    def __call__(self) -> int:
        torch.use_deterministic_algorithms(False)
        made = self.policy.model.generate(self.tokens, attention_mask=self.mask, generation_config=self.settings)
        torch.use_deterministic_algorithms(True, warn_only=True)
        responses = made[:, self.tokens.shape[1] :]
        self.policy.decode(responses.tolist())
        before_end = (responses == self.policy.eos).cumsum(-1) - (responses == self.policy.eos).long() == 0
        return int(before_end.sum())


def sampling(size: Size, device: str, precision: str, repeats: int) -> tuple[list[Figure], dict[str, float]]:
    """The package's sampler and `generate` in turn, on the same model, prompts, lengths and precision."""
    policy, problems = random_policy(size, device, getattr(torch, precision)), problems_of(size)
    asked = Evaluation(
        temperature=1.0, top_p=1.0, samples=size.samples, max_response_tokens=size.response_tokens, seed=1
    )
    engine, generate = InProcess(policy, asked), Generate(policy, problems, size)
    ours, theirs = Figure("sampling, in process", precision), Figure("sampling, transformers generate", precision)

    def own(repeat: int) -> int:
        drawn = engine.draw(problems, repeat * size.samples, (repeat + 1) * size.samples)
        return sum(len(one.response) for one in drawn)

    for repeat in range(repeats + 1):  # the first warms up; who begins alternates
        turns = [(ours, lambda repeat=repeat: own(repeat)), (theirs, generate)]
        for figure, task in turns if repeat % 2 else reversed(turns):
            tokens, seconds = timed(device, task)
            if repeat:
                figure.add(tokens, seconds, work(size, tokens, forward_flops))
    gap = difference(policy, engine.draw(problems[:2], 0, 2))
    return [ours, theirs], {"largest difference to transformers' forward pass, nats a token": gap}


@torch.no_grad()
def difference(policy: Policy, drawn: list[Sampled]) -> float:
    """The largest difference between the sampler's log-probabilities and those of the model's own forward pass."""
    largest = 0.0
    for one in drawn:
        tokens = torch.tensor([one.prompt + one.response], device=policy.model.device)
        logits = policy.model(tokens).logits[0, len(one.prompt) - 1 : -1].float().log_softmax(-1)
        theirs = logits.gather(-1, tokens[0, len(one.prompt) :, None]).squeeze(-1).cpu()
        largest = max(largest, float((theirs - torch.tensor(one.logprobs)).abs().max()))
    return largest


class Coin:
    """A verifier that finds half of all texts correct, so that an untrained model has something to learn from."""

    errors = Errors("coin", share=1.0)

    def judge(self, pairs: Iterable[tuple[str, str]]) -> list[Verdict]:
        return [Verdict(("wrong", "correct")[crc32(text.encode()) % 2], None, 0.0) for text, _ in pairs]


def run_of(size: Size, precision: str) -> RunSpec:
    """GRPO as in the ACE paper's file, at the size to be measured."""
    plan = make_plan(ROOT, "smoke", ["ace"])
    spec = next(s for s in plan.runs.values() if s.estimator["name"] == "grpo" and not s.rollout.dynamic_sampling)
    rl = {
        "prompts_per_step": size.prompts,
        "prompts_per_minibatch": size.prompts // 2,
        "sequences_per_microbatch": size.microbatch,
        "precision": precision,
    }
    rollout = {
        "samples_per_prompt": size.samples,
        "max_prompt_tokens": size.prompt_tokens,
        "max_response_tokens": size.response_tokens,
    }
    changes = {"rl": rl, "rollout": rollout, "probe": {"problems": 0}}
    return spec.model_copy(update={key: getattr(spec, key).model_copy(update=new) for key, new in changes.items()})


def training(size: Size, device: str, precision: str, repeats: int) -> tuple[list[Figure], dict[str, float]]:
    """Steps of a run, by phase. Weights are float32, arithmetic as a run's `precision`."""
    policy, reference = (random_policy(size, device, torch.float32) for _ in range(2))
    trainer = Trainer(run_of(size, precision), policy, reference, problems_of(size), [])
    trainer.verifier = Coin()  # type: ignore[assignment]
    phases = {name: Figure(f"training, {name}", precision) for name in ("rollout", "reference", "update", "step")}
    row = trainer.advance()  # warms up
    for _ in range(repeats):
        row = trainer.advance()
        tokens = round(row["response_tokens"] * size.rows)
        once, thrice = work(size, tokens, forward_flops), work(size, tokens, update_flops)
        flops = {"rollout": once, "reference": once, "update": thrice, "step": 2 * once + thrice}
        for name, figure in phases.items():
            figure.add(tokens, row["timing"][name], flops[name])
    seen = {key: row[key] for key in ("loss", "grad_norm", "pass_rate")}
    gap = {"sampler to update, nats a token (mean)": row["logprob_gap"]}
    return list(phases.values()), {f"last step's {key}": value for key, value in seen.items()} | gap


def machine(device: str) -> str:
    if device == "cpu":
        return f"{provenance.processor()}, one core"
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"


def table(figures: list[Figure], peak: Device | None) -> list[str]:
    """One line a figure: medians, with the smallest and largest rate of the repeats."""
    lines = [
        "| what | precision | tokens/s | range | seconds | model FLOP/s | of the peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in figures:
        done = median(flops / seconds for flops, seconds in zip(one.flops, one.seconds, strict=True))
        share = one.utilisation(peak)
        lowest, middle, highest = min(one.rates), median(one.rates), max(one.rates)
        lines.append(
            f"| {one.what} | {one.precision} | {middle:,.0f} | {lowest:,.0f} to {highest:,.0f} "
            f"| {median(one.seconds):.3f} | {done:.3g} | {'not known' if share is None else f'{share:.1%}'} |"
        )
    return lines


def measured_entry(size: Size, name: str, sampled: Figure, updated: Figure) -> str:
    """The rates as config/hardware.yaml takes them: an update counts prompts and responses, generation responses."""
    both = [t + size.rows * size.prompt_tokens for t in updated.tokens]
    update_rate = median(tokens / seconds for tokens, seconds in zip(both, updated.seconds, strict=True))
    return (
        f"- {{model: {size.model}, device: {name}, update_tokens_per_second: {update_rate:.0f}, "
        f"generation_tokens_per_second: {median(sampled.rates):.0f}, source: make bench-gpu}}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["0.5b", "tiny"], default="0.5b")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="JSON of every single measurement")
    arguments = parser.parse_args()
    device = arguments.device
    if device == "cuda" and not torch.cuda.is_available():
        print(NO_GPU, file=sys.stderr)
        sys.exit(2)
    warnings.filterwarnings("ignore", message=".*deterministic.*")
    one_thread()
    hardware = read(ROOT / "config")
    size, precision = size_of(arguments.size, hardware), "bfloat16" if device == "cuda" else "float32"
    name = "cpu-core" if device == "cpu" else listed(torch.cuda.get_device_name(), hardware.devices)
    peak = hardware.devices[name] if name else None
    sampled, agreement = sampling(size, device, precision, arguments.repeats)
    trained, seen = training(size, device, precision, arguments.repeats)
    figures, checks = [*sampled, *trained], agreement | seen
    ratios = [ours / theirs for ours, theirs in zip(sampled[0].rates, sampled[1].rates, strict=True)]
    wrong = [key for key, value in checks.items() if not math.isfinite(value)]
    if wrong:
        sys.exit(f"not a finite number: {', '.join(wrong)}")
    print(f"machine: {machine(device)}; Python {platform.python_version()}, torch {torch.__version__}")
    print(f"commit {provenance.commit()}; peak: {f'{name} of config/hardware.yaml' if name else 'not known'}")
    print(
        f"model: the shape of {size.model}, {size.shape.parameters:,} parameters, random; {size.prompts} prompts of "
        f"{size.prompt_tokens} tokens x {size.samples} responses of up to {size.response_tokens}; "
        f"medians of {arguments.repeats}"
    )
    print("\n".join(["", *table(figures, peak), ""]))
    ratio = median(ratios)
    print(f"in process / transformers generate: {ratio:.2f} times ({min(ratios):.2f} to {max(ratios):.2f})")
    if device == "cuda":
        print(f"largest memory: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    print("; ".join(f"{key}: {value:.2g}" for key, value in checks.items()))
    if name and size.model in hardware.shapes:
        print(f"for `measured:` of config/hardware.yaml:\n{measured_entry(size, name, sampled[0], trained[2])}")
    if arguments.out:
        made = [asdict(one) | {"rate": median(one.rates), "share": one.utilisation(peak)} for one in figures]
        content = {"size": asdict(size) | {"shape": size.shape.model_dump()}, "figures": made}
        arguments.out.write_text(json.dumps(content | {"ratio": ratio, "ratios": ratios, "checks": checks}))


if __name__ == "__main__":
    main()

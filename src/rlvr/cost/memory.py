"""Bytes of a run or an SFT on one GPU by phase, whether they fit, and the nearest setting that does: docs/cost.md.

P parameters, G GPUs. Weights, gradients and Adam's two moments are float32: 4 P each; verl shards them over G GPUs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from rlvr.config.schema.models_and_data import Model
from rlvr.config.schema.settings import Execution, Sft
from rlvr.config.schema.specs import RunSpec
from rlvr.cost import activations
from rlvr.cost.activations import LOGITS_AT_ONCE
from rlvr.cost.hardware import Assumptions, Device, Hardware, ModelShape
from rlvr.training.backends.verl.overrides import SFT_TOKENS, longest_demonstration

PATCHES = 4  # of a picture, for each of its places in a prompt
WIDTH = {"float32": 4, "bfloat16": 2}  # bytes per number
MOST_GPUS = 64  # of a run, in a suggestion

Parts = dict[str, float]  # what is on the GPU -> bytes


@dataclass(frozen=True)
class Memory:
    """The parts of each phase in bytes on one of `gpus` GPUs, and the bytes that a process may use."""

    gpus: int
    usable: float
    phases: dict[str, Parts]
    missing_cache: float = 0.0  # bytes that an engine lacks for its weights and one sequence
    missing_tokens: int = 0  # of a microbatch, for the longest sequence

    @property
    def peaks(self) -> Parts:
        return {phase: sum(parts.values()) for phase, parts in self.phases.items()}

    @property
    def peak(self) -> float:
        return max(self.peaks.values())

    @property
    def fits(self) -> bool:
        return self.peak <= self.usable and self.missing_cache <= 0 and self.missing_tokens <= 0


def of_run(
    spec: RunSpec, execution: Execution, shape: ModelShape, device: Device, assumed: Assumptions, gpus: int
) -> Memory:
    """The memory of a run by its backend: verl on `gpus` GPUs, in process on one GPU or on a core."""
    run = _Run(spec, execution, shape, device, assumed, gpus)
    usable = assumed.usable_memory.value * device.memory
    if spec.rl.backend == "verl":
        return Memory(gpus, usable, run.verl(), run.missing_cache(), run.longest - execution.tokens_per_gpu)
    return Memory(1, usable, run.in_process() if device.unit == "GPU" else run.on_a_core())


def fitted(spec: RunSpec, execution: Execution, hardware: Hardware, name: str, gpus: int) -> tuple[Memory, str]:
    """The memory of a run on a device of config/hardware.yaml; why it cannot fit on a GPU, if so, and what fits."""
    shape, device, assumed = hardware.shape(spec.base.model), hardware.devices[name], hardware.assumed(name)

    def with_settings(execution: Execution, gpus: int) -> Memory:
        return of_run(spec, execution, shape, device, assumed, gpus)

    found = with_settings(execution, gpus)
    if found.fits or device.unit != "GPU":
        return found, ""
    return found, refusal(found, remedies(spec, execution, gpus, with_settings))


def of_sft(sft: Sft, shape: ModelShape, device: Device, assumed: Assumptions, gpus: int) -> Memory:
    """The memory of an SFT by verl: float32, padded, and no engine on its GPUs."""
    longest = longest_demonstration(sft)
    passes = _Passes(shape, SFT_TOKENS, longest, pictured=0, packed=False, compute=WIDTH["float32"])
    shard = 4 * shape.parameters / gpus
    steady = {"weights": shard, "moments": 2 * shard, **_processes(assumed, 1), "gradients": shard}
    return Memory(gpus, assumed.usable_memory.value * device.memory, passes.trained(steady, shard))


def sft_fitted(sft: Sft, model: Model, hardware: Hardware, name: str, gpus: int) -> tuple[Memory, str]:
    """The memory of an SFT by verl on a GPU of config/hardware.yaml; why it cannot fit, if so, and what fits."""
    shape, device, assumed = hardware.shape(model), hardware.devices[name], hardware.assumed(name)

    def on(count: int) -> Memory:
        return of_sft(sft, shape, device, assumed, count)

    found = on(gpus)
    return found, "" if found.fits else refusal(found, _more_gpus(gpus, on))


@dataclass(frozen=True)
class _Passes:
    """What passes by verl and FSDP2 keep on a GPU: T tokens of a microbatch, padding included, sharded weights."""

    shape: ModelShape
    tokens: float
    longest: int  # tokens of a sequence
    pictured: float  # tokens that may be places of pictures
    packed: bool  # by FlashAttention, without padding
    compute: int  # bytes of a number in products

    def trained(self, steady: Parts, shard: float) -> dict[str, Parts]:
        """An update and the optimizer's step on top of `steady`, which has gradients; a `shard` is 4 P / G."""
        return {
            "update": {**steady, **self.gathered(), **_largest(self._updated_head(), self._updated_layer())},
            "optimizer": {**steady, "temporaries": shard},
        }

    def gathered(self) -> Parts:
        """Whole weights on a GPU: embeddings, head, the layer in use and the next."""
        heads = activations.embedding(self.shape) * (1 if self.shape.tie_embeddings else 2)
        return {"gathered weights": self.compute * (heads + 2 * activations.layer_matrices(self.shape))}

    def scored(self) -> Parts:
        """A pass without gradients: a layer's widest tensors, then logits and the float32 entropy of some at a time.

        With padding, a copy of the logits without it.
        """
        logits = self.compute * self.tokens * self.shape.vocabulary * (1 if self.packed else 2)
        layer = 4 * self.compute * self.tokens * self.shape.intermediate_size
        some = 3 * 4 * min(LOGITS_AT_ONCE, self.tokens) * self.shape.vocabulary
        return {"logits": logits, "entropy": some} if logits + some > layer else {"one layer": layer}

    def checkpoints(self, stream: int) -> Parts:
        """The inputs of all layers, which gradient checkpointing keeps; a vision tower's, if prompts are pictures."""
        states = {"hidden states": stream * self.tokens * self.shape.layers * self.shape.hidden_size}
        if (tower := self.shape.vision) is None:
            return states
        return {**states, "vision tower": stream * PATCHES * self.pictured * tower.layers * tower.hidden_size}

    def _updated_head(self) -> Parts:
        """The backward pass of the head. FlashAttention's loss overwrites logits with their gradient.

        With padding there are a copy without it, the parts of its gradient and their sum, and float32 for some tokens.
        """
        logits = self.compute * self.tokens * self.shape.vocabulary
        if not self.packed:
            logits = 3 * logits + 3 * 4 * min(LOGITS_AT_ONCE, self.tokens) * self.shape.vocabulary
        # A gradient as computed, and in float32 for the sum over GPUs.
        unsharded = (self.compute + 4) * activations.embedding(self.shape)
        return {**self.checkpoints(self.compute), "logits": logits, "whole gradient": unsharded}

    def _updated_layer(self) -> Parts:
        """The backward pass of a layer, computed again."""
        per_token = activations.layer(self.shape, compute=self.compute, stream=self.compute)
        if not self.packed:  # keys and values repeated, and a mask
            per_token += activations.repeated_heads(self.shape, compute=self.compute) + 3 * self.longest
        parts = {"one layer": self.tokens * (per_token + 2 * self.compute * self.shape.intermediate_size)}
        held = 4 * activations.embedding(self.shape) if self.shape.tie_embeddings else 0
        unsharded = 2 * (self.compute + 4) * activations.layer_matrices(self.shape) + held
        return {**self.checkpoints(self.compute), **parts, "whole gradients": unsharded}


@dataclass(frozen=True)
class _Run:
    spec: RunSpec
    execution: Execution
    shape: ModelShape
    device: Device
    assumed: Assumptions
    gpus: int

    @property
    def longest(self) -> int:
        return self.spec.rollout.max_prompt_tokens + self.spec.rollout.max_response_tokens

    @property
    def tokens(self) -> float:
        """The tokens of a microbatch, padding included; in process a single sequence may exceed the limit."""
        return max(self.execution.tokens_per_gpu, self.longest)

    @property
    def packed(self) -> bool:
        return self.execution.attention == "flash_attention_2"

    @property
    def compute(self) -> int:
        return WIDTH[self.spec.rl.precision]

    @property
    def passes(self) -> _Passes:
        pictured = self.tokens * self.spec.rollout.max_prompt_tokens / self.longest
        return _Passes(self.shape, self.tokens, self.longest, pictured, self.packed, self.compute)

    @property
    def _trained_models(self) -> int:
        return 1 + (self.spec.critic is not None)

    def _critic(self, size: float) -> Parts:
        return {} if self.spec.critic is None else {"critic and its moments": 3 * size}

    @property
    def _engine(self) -> float:
        return self.execution.gpu_memory_utilization * self.device.memory

    # ---- verl: FSDP2, a reference on the host, vLLM on the same GPUs ----

    def verl(self) -> dict[str, Parts]:
        shard, passes = 4 * self.shape.parameters / self.gpus, self.passes
        steady = {"weights": shard, "moments": 2 * shard, **_processes(self.assumed, 2), **self._critic(shard)}
        gradients = {"gradients": shard * self._trained_models}
        return {
            "rollouts": {**steady, "vllm": self._engine},
            "log-probabilities": {**steady, **passes.gathered(), **passes.scored()},
            **passes.trained({**steady, **gradients}, shard),
        }

    def missing_cache(self) -> float:
        """Bytes that an engine's share lacks for its weights and the cache of the longest sequence."""
        width, spread = WIDTH["bfloat16"], self.execution.tensor_parallel  # verl's default for rollouts
        need = (self.shape.parameters + self.longest * self.shape.cache_values) * width / spread
        return need - self._engine

    # ---- in process on one GPU: policies/transformers_pass.py, and the sampler of policies/sampler.py ----

    def in_process(self) -> dict[str, Parts]:
        whole = 4 * self.shape.parameters
        steady = {"weights": whole, "moments": 2 * whole, "reference": whole, **_processes(self.assumed, 1)}
        steady |= self._critic(whole)
        trained = {**steady, "gradients": whole * self._trained_models}
        forward = {**self._weights_cast(), **self._logits(8 + self.compute)}
        backward = _largest(
            forward,
            {**self._logits(12 + self.compute), **self._head_gradient(summed=False)},
            self._head_gradient(summed=True),
            self._one_layer(),
        )
        return {
            "rollouts": {**steady, **self._sampled()},
            "log-probabilities": {**steady, **forward},
            "update": {**trained, **self.passes.checkpoints(4), **backward},
            "optimizer": {**trained, "temporaries": whole},
        }

    def _weights_cast(self) -> Parts:
        """The copy of all matrices that autocast keeps during a forward pass."""
        return {} if self.compute == 4 else {"weights in bfloat16": self.compute * self.shape.multiplied}

    def _logits(self, each: float) -> Parts:
        """Logits of some tokens at a time: in products' precision, in float32, their exponentials, their gradients."""
        return {"logits": min(LOGITS_AT_ONCE, self.tokens) * self.shape.vocabulary * each}

    def _head_gradient(self, *, summed: bool) -> Parts:
        """The head's gradient: while logits exist, and when it is summed over the parts of a microbatch.

        In bfloat16 a sum, the cast weights and a part's gradient (2 each); then float32 for the sum (4), and for the
        embeddings where they are tied. In float32 a sum (4); then the old sum, the new one and a part's gradient.
        """
        of_sum = {2: 8 if self.shape.tie_embeddings else 6, 4: 12}
        each = (of_sum if summed else {2: 6, 4: 4})[self.compute]
        return {"whole gradient": each * activations.embedding(self.shape)}

    def _one_layer(self) -> Parts:
        """A layer computed again: what it keeps, and its weights in bfloat16 where autocast casts them."""
        per_token = activations.layer(self.shape, compute=self.compute, stream=4)
        matrices = activations.layer_matrices(self.shape)
        cast = self.compute * matrices if self.compute < 4 else 0
        largest = (self.compute + 4) * self.shape.hidden_size * self.shape.intermediate_size
        held = 4 * activations.embedding(self.shape) if self.shape.tie_embeddings else 0
        return {"one layer": self.tokens * per_token + cast, "whole gradients": largest + held}

    def _sampled(self) -> Parts:
        """The sampler: joined projections, keys and values of all responses, and five tensors of logits."""
        shape, rollout = self.shape, self.spec.rollout
        width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
        joined = 4 * shape.layers * shape.hidden_size * (width + 2 * shape.intermediate_size)
        rows = self.spec.rl.prompts_per_step * rollout.samples_per_prompt
        if self.spec.probe.problems:
            rows = max(rows, self.spec.probe.problems * self.spec.probe.samples)
        cache = rows * self.longest * shape.cache_values * self.compute
        return {"joined weights": joined, "cache": cache, "logits": 5 * 4 * rows * shape.vocabulary}

    # ---- in process on a processor: policies/decoder.py ----

    def on_a_core(self) -> dict[str, Parts]:
        """As if no two responses began alike: the most that `rl.sequences_per_microbatch` rows can take."""
        shape, rows = self.shape, self.spec.rl.sequences_per_microbatch
        whole, tokens = 4 * shape.parameters, rows * self.longest
        steady = {"weights": whole, "moments": 2 * whole, "reference": whole}
        kept = shape.layers * activations.decoder_layer(
            shape, nodes=tokens, rows=rows, length=self.longest, compute=self.compute
        )
        responses = rows * self.spec.rollout.max_response_tokens
        logits = activations.decoder_head(shape, tokens=responses, compute=self.compute)
        return {
            "rollouts": {**steady, **self._sampled()},
            "update": {**steady, "gradients": whole, "layers": kept, "logits": 2 * logits},
        }


def _largest(*options: Parts) -> Parts:
    return max(options, key=lambda parts: sum(parts.values()))


def _processes(assumed: Assumptions, count: int) -> Parts:
    return {"CUDA and NCCL": count * assumed.process_memory.value}


# ---- settings that fit ----


def remedies(spec: RunSpec, execution: Execution, gpus: int, make: Callable[[Execution, int], Memory]) -> list[str]:
    """The nearest values of single settings with which a run fits; `make` gives its memory with them."""
    found: list[str] = []
    for name, values in _smaller(spec, execution).items():
        fitting = (value for value in values if make(execution.model_copy(update={name: value}), gpus).fits)
        found += [f"execution.{name}: {value}" for value in islice(fitting, 1)]
    if spec.rl.backend == "verl":
        found += _more_gpus(gpus, lambda count: make(execution, count))
    return found


def _more_gpus(gpus: int, make: Callable[[int], Memory]) -> list[str]:
    """The least number of GPUs, twice or four times as many and so on, that fits."""
    more = (gpus * 2**i for i in range(1, 7) if gpus * 2**i <= MOST_GPUS)
    return [f"{count} GPUs" for count in more if make(count).fits][:1]


def _smaller(spec: RunSpec, execution: Execution) -> dict[str, list]:
    """Values of settings that need less memory, or hold the longest sequence; the nearest first."""
    tokens = execution.tokens_per_gpu
    if spec.rl.backend != "verl":
        return {"tokens_per_gpu": _fewer(tokens)}
    longest = spec.rollout.max_prompt_tokens + spec.rollout.max_response_tokens
    shares = (round(execution.gpu_memory_utilization - 0.05 * i, 2) for i in range(1, 20))
    return {
        "tokens_per_gpu": _fewer(tokens) if tokens >= longest else [1024 * math.ceil(longest / 1024)],
        "gpu_memory_utilization": [share for share in shares if share >= 0.1],
        "attention": ["flash_attention_2"] if execution.attention == "sdpa" else [],
    }


def _fewer(tokens: int) -> list[int]:
    """Multiples of 1,024 below a number of tokens."""
    return list(range((tokens - 1) // 1024 * 1024, 0, -1024))


def largest_parts(parts: Parts) -> str:
    """The three largest parts of a phase, in GB."""
    largest = sorted(parts.items(), key=lambda pair: -pair[1])[:3]
    return ", ".join(f"{part} {size / 1e9:.1f}" for part, size in largest)


def refusal(memory: Memory, found: list[str]) -> str:
    """Why a run cannot fit, in one sentence, and what fits."""
    end = f"{'; or '.join(found)} fits" if found else "no value of one setting fits"
    if memory.missing_tokens > 0:
        return f"the longest sequence has {memory.missing_tokens} tokens more than a microbatch; {end}"
    phase, peak = max(memory.peaks.items(), key=lambda pair: pair[1])
    if memory.peak > memory.usable:
        parts = largest_parts(memory.phases[phase])
        why = f"{phase} need {peak / 1e9:.1f} GB of {memory.usable / 1e9:.1f} on a GPU ({parts})"
    else:
        why = f"vllm lacks {memory.missing_cache / 1e9:.1f} GB for its weights and one sequence"
    return f"{why}; {end}"

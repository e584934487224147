"""The devices of a paper's runs by the plan, beside what its text says of them (config/papers/<paper>/stated.yaml)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config.cluster import Cluster
from rlvr.config.layers import read_yaml
from rlvr.config.plan import Plan
from rlvr.config.schema.stated import NOT_STATED, HardwareStatement
from rlvr.config.validate import validate
from rlvr.cost import hardware, summary
from rlvr.cost.model import Costs
from rlvr.planning.papers import read_sources

FACTOR = 3  # numbers that differ by more have a reason
WITHIN, BEYOND = "within a factor of three", "differs"


@dataclass(frozen=True)
class Devices:
    """The runs of one model by the plan, and the paper's sentence about them."""

    model: str
    runs: int
    gpus: int  # of one run, the most
    hours: tuple[float, float]  # of one run, the least and the most
    gpu_hours: float  # of all runs
    says: str
    place: str
    verdict: str
    has_hours: bool  # whether the paper states a duration
    why: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Whole:
    """The plan of a whole paper: its machine, its GPU-hours, and how long it takes there."""

    device: str
    nodes: int
    per_node: int
    gpu_hours: float
    days: float


def compared(root: Path, plan: Plan, name: str) -> tuple[Whole, list[Devices]]:
    """The plan of one paper on its scale's machine, and its runs by model."""
    machine = read_sources(root, plan.scale, []).scale.hardware
    specs = hardware.read(root / "config")
    each = machine.per_node or specs.devices[machine.device].per_node
    cluster = validate(Cluster, [read_yaml(root / "config/cluster.yaml", root)])
    work, schedule = summary.scheduled(plan, Costs(specs, machine.device, cluster), machine.nodes, each)
    total = summary.totals(work, schedule, None)
    whole = Whole(machine.device, machine.nodes, each, total["gpu_hours"], total["makespan_hours"] / 24)
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in summary.by_model(work):
        if row["kind"] == "run":
            rows.setdefault(row["model"], []).append(row)
    return whole, [_of_model(plan.papers[name].paper.hardware, model, of) for model, of in rows.items()]


def faults(devices: list[Devices]) -> list[str]:
    """What is wrong between the paper's text and the plan, one line each."""
    return [f"hardware of {one.model}: {one.fault}" for one in devices if one.fault]


def _of_model(statements: list[HardwareStatement], model: str, rows: list[dict[str, Any]]) -> Devices:
    about = [one for one in statements if not one.models or model in one.models]
    statement = about[-1] if about else HardwareStatement()
    gpus, hours = max(row["gpus"] for row in rows), [row["hours"] for row in rows]
    verdict, fault = verdict_on(statement, gpus, max(row["gpu_hours"] / row["jobs"] for row in rows))
    fault = fault if about else "has no entry in stated.yaml"
    return Devices(
        *(model, sum(row["jobs"] for row in rows), gpus, (min(hours), max(hours))),
        *(sum(row["gpu_hours"] for row in rows), statement.says, statement.place, verdict),
        *(statement.gpu_hours is not None, statement.why),
        fault,
    )


def verdict_on(statement: HardwareStatement, gpus: int, gpu_hours: float) -> tuple[str, str]:
    """Whether the numbers of a run are within a factor of three of the stated ones, and what is wrong about that."""
    pairs = [(gpus, statement.gpus), (gpu_hours, statement.gpu_hours)]
    stated = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
    if not stated:
        return NOT_STATED, "names a reason, and states no number" if statement.why else ""
    if all(max(ours, theirs) <= FACTOR * min(ours, theirs) for ours, theirs in stated):
        return WITHIN, "is within a factor of three, so remove `why`" if statement.why else ""
    return BEYOND, "" if statement.why else f"differs from {statement.says!r} by more than a factor of three; say why"

"""The content of `rlvr plan` as plain data: totals, jobs by model, items, the longest chain, assumptions."""

import json
from itertools import accumulate
from typing import Any

from rlvr.config.load import ConfigError
from rlvr.config.plan import Plan, core_items
from rlvr.cost.hardware import Hardware, published
from rlvr.cost.jobs import Name, Work, work_of
from rlvr.cost.model import Costs
from rlvr.cost.schedule import DoesNotFit, Schedule, longest_chain, simulate
from rlvr.suggest import nearest

HOUR = 3600.0
NOT_COUNTED = (
    "Not counted: grading, statistics, changes of weights and drawing (CPU), hidden states (at most 3 x 131,072 tokens "
    "of a run), embeddings of diversity tables, downloads, queues, failures, and what runs already made."
)
SAMPLER = {
    "GPU": "Generation is reckoned for an engine that batches continuously (vllm); in_process is slower on a GPU.",
    "core": "Generation is reckoned for an engine that batches continuously; in_process ends a batch before the next.",
}


def scheduled(
    plan: Plan, costs: Costs, nodes: int, gpus_per_node: int, only: list[Name] | None = None
) -> tuple[Work, Schedule]:
    work = work_of(plan, costs, only=only)
    unit = costs.hardware.devices[costs.device].unit
    return work, simulate(list(work.jobs.values()), nodes=nodes, gpus_per_node=gpus_per_node, unit=unit)


def totals(work: Work, schedule: Schedule, price: float | None) -> dict[str, Any]:
    estimates = [job.estimate for job in work.jobs.values()]
    gpu_hours = work.gpu_hours()
    return {
        "sft": work.count("sft"),
        "runs": work.count("run"),
        "evaluations": work.count("evaluation"),
        "jobs": len(work.jobs),
        "gpu_hours": gpu_hours,
        "makespan_hours": schedule.makespan / HOUR,
        "idle_share": schedule.idle_share,
        "longest_chain_hours": sum(job.seconds for job in longest_chain(list(work.jobs.values()))) / HOUR,
        "tokens": sum(e.tokens for e in estimates),
        "flops": sum(e.flops for e in estimates),
        "disk_bytes": sum(e.disk for e in estimates) + checkpoints_at_once(work, schedule),
        "checkpoint_bytes": checkpoints_at_once(work, schedule),
        "price": None if price is None else price * gpu_hours,
    }


def checkpoints_at_once(work: Work, schedule: Schedule) -> float:
    """The most bytes that checkpoints of runs in flight take: a finished run keeps few of them."""
    slots = [(slot, work.jobs[slot.job.name].estimate.checkpoints) for slot in schedule.slots]
    changes = [(slot.start, size) for slot, size in slots] + [(slot.end, -size) for slot, size in slots]
    return max(accumulate(change for _, change in sorted(changes)), default=0.0)


def by_memory(work: Work) -> list[dict[str, Any]]:
    """One row per model and memory of its runs or SFTs: peak and parts of each phase, in bytes on one device."""
    rows: dict[str, dict[str, Any]] = {}
    for name, job in work.jobs.items():
        if (memory := job.estimate.memory) is None:
            continue
        found = {"model": job.model, "kind": job.kind, "gpus": memory.gpus, "usable": memory.usable}
        found |= {"peaks": memory.peaks}
        row = rows.setdefault(json.dumps(found), {**found, "runs": 0, "phases": memory.phases, "example": name})
        row["runs"] += 1
    return sorted(rows.values(), key=lambda row: (row["model"], row["kind"] == "sft", row["example"]))


def by_model(work: Work) -> list[dict[str, Any]]:
    """One row per kind, model and cost: runs that differ only in seed and weights share a row."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, job in work.jobs.items():
        groups.setdefault((job.model, job.kind, job.estimate), []).append(name)
    order = {"sft": 0, "run": 1, "evaluation": 2}
    return [
        {
            "model": model,
            "kind": kind,
            "jobs": len(names),
            "gpus": estimate.gpus,
            "steps": estimate.steps or None,
            "tokens": estimate.tokens,
            "flops": estimate.flops,
            "hours": estimate.seconds / HOUR,
            "gpu_hours": len(names) * estimate.gpu_hours,
            "seconds_by_phase": dict(estimate.phases),
            "example": names[0],
        }
        for (model, kind, estimate), names in sorted(
            groups.items(), key=lambda group: (group[0][0], order[group[0][1]], group[1][0])
        )
    ]


def by_item(plan: Plan, work: Work, schedule: Schedule) -> list[dict[str, Any]]:
    """One row per table and figure, in the order of finishing."""
    core = set(core_items(plan))
    return [
        {
            "paper": name[0],
            "item": name[1],
            "core": name in core,
            "runs": work.count("run", jobs),
            "evaluations": work.count("evaluation", jobs),
            "alone_gpu_hours": work.gpu_hours(jobs),
            "added_gpu_hours": work.gpu_hours(work.added(name)),
            "only_gpu_hours": work.gpu_hours(work.only(name)),
            "done_hours": schedule.finished(jobs) / HOUR,
        }
        for name, jobs in work.items.items()
    ]


def by_device(
    plan: Plan, costs: Costs, nodes: int, gpus_per_node: int, only: list[Name] | None
) -> list[dict[str, Any]]:
    """The totals of the plan on each type of GPU, or why it does not fit."""
    rows, hardware = [], costs.hardware
    for device in hardware.devices:
        if hardware.devices[device].unit != "GPU":
            continue
        row: dict[str, Any] = {"device": device, "about": hardware.devices[device].about}
        try:
            on_device = Costs(hardware, device, costs.cluster, gpus_per_run=costs.gpus_per_run)
            work, schedule = scheduled(plan, on_device, nodes, gpus_per_node, only)
            if work.refused:
                row["problem"] = next(iter(work.refused))
            estimates = [(job.kind, job.estimate) for job in work.jobs.values()]
            memories = [estimate.memory.peak for _, estimate in estimates if estimate.memory is not None]
            row |= {"memory_bytes": max(memories, default=0.0), "memory": hardware.devices[device].memory}
            gpus = [estimate.gpus for kind, estimate in estimates if kind == "run"]
            row |= {"gpus_a_run": max(gpus, default=0), **totals(work, schedule, None)}
        except DoesNotFit as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows


def chain(work: Work) -> list[dict[str, Any]]:
    return [
        {"job": job.name, "kind": work.jobs[job.name].kind, "gpus": job.gpus, "hours": job.seconds / HOUR}
        for job in longest_chain(list(work.jobs.values()))
    ]


def assumptions(costs: Costs) -> list[dict[str, Any]]:
    return [{"name": name, **getattr(costs.assumed, name).model_dump()} for name in type(costs.assumed).model_fields]


def notes(plan: Plan, hardware: Hardware, device: str, work: Work) -> list[str]:
    """Notes: omissions, and the measured rates, used or not."""
    several = sum(job.gpus > 1 and job.kind == "run" for job in work.jobs.values())
    unit = hardware.devices[device].unit
    texts = [NOT_COUNTED, SAMPLER[unit]]
    if several:
        texts.append(
            f"{several} runs ask for more than one {unit} (config/cluster.yaml). Weights and moments are sharded over "
            "them, with no time lost to communication."
        )
    jobs = {f"rl.{spec.rl.backend}" for spec in plan.runs.values()}
    jobs |= {f"sft.{spec.sft.backend}" for spec in plan.policies.values() if spec.sft is not None}
    jobs |= {f"generate.{spec.sampling.engine}" for spec in plan.evaluations.values()}
    models = plan.models.values()
    used = [hardware.measured_on(device, model, job) for model in models for job in sorted(jobs)]
    known = {name for model in models for name in (model.name, published(model))}
    groups: dict[str, list[str]] = {}
    for entry in (one for one in hardware.measured if one.model in known):
        what = "in place of assumed ones" if entry in used else "without use here"
        job = f", {entry.job}" if entry.job else ""
        groups.setdefault(what, []).append(f"{entry.model} on {entry.device}{job} ({entry.source})")
    texts += [f"Measured rates {what}: {'; '.join(entries)}" for what, entries in groups.items()]
    return texts


def order(work: Work, schedule: Schedule) -> list[dict[str, Any]]:
    """Every job in order of its start, with the first table or figure that needs it."""
    first: dict[str, str] = {}
    for (paper, item), jobs in work.items.items():
        for job in jobs:
            first.setdefault(job, f"{paper}/{item}")
    return [
        {
            "job": slot.job.name,
            "kind": work.jobs[slot.job.name].kind,
            "gpus": slot.job.gpus,
            "nodes": " ".join(map(str, slot.nodes)),
            "start_hours": slot.start / HOUR,
            "end_hours": slot.end / HOUR,
            "first_for": first[slot.job.name],
        }
        for slot in schedule.slots
    ]


def named_item(plan: Plan, name: str) -> Name:
    """`table1` or `<paper>/table1`. Raises ConfigError with the nearest name."""
    items = {f"{paper}/{item}": (paper, item) for paper, of in plan.papers.items() for item in of.all_items()}
    matches = [place for key, place in items.items() if name == key or name == place[1]]
    if not matches:
        valid = list(items) if "/" in name else [item for _, item in items.values()]
        raise ConfigError(f"--table: unknown table or figure {name!r}{nearest(name, valid)}")
    if len(matches) > 1:
        raise ConfigError(f"--table: {name!r} is in {', '.join(paper for paper, _ in matches)}; say PAPER/{name}")
    return matches[0]

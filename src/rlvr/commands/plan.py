"""`rlvr plan`: the estimated cost of papers, and when their tables will be finished."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.checkout import ConfigFolder, folder_of
from rlvr.commands.lines import fail, to_write

OPTIONS = {"device": "--device", "nodes": "--nodes", "per_node": "--gpus-per-node"}


def plan(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]...", help="Papers of config/papers/; default: all.")
    ] = None,
    scale: Annotated[str, typer.Option(help="A scale of config/scale/. (The workflow's default is laptop.)")] = "paper",
    device: Annotated[
        str | None,
        typer.Option(
            "--device", "--gpu", metavar="TYPE", help="A device of config/hardware.yaml.", show_default="the scale's"
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(help="Nodes of the simulated schedule.", min=1, max=100_000, show_default="the scale's"),
    ] = None,
    gpus_per_node: Annotated[
        int | None,
        typer.Option(help="GPUs or cores per node.", min=1, max=1024, show_default="the scale's, or the device's"),
    ] = None,
    gpus_per_run: Annotated[
        int | None,
        typer.Option(
            help="GPUs or cores per run that can shard.", min=1, max=4096, show_default="config/cluster.yaml's"
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this table or figure, also one made by name alone (league)."),
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Price per hour of one GPU or core, in any currency.", min=0, max=1e9)
    ] = None,
    measured: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML with `measured:` rates, which replace assumed ones.")
    ] = None,
    order: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every job with its start, as CSV.")] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print no cost, but each setting beside the paper's sentence about it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config_folder: ConfigFolder = None,
) -> None:
    """Print runs, GPU-hours, disk and the longest chain of papers, and a simulated schedule.

    Options replace the scale's device and nodes (`hardware` in its file). Jobs start in the order that finishes core
    tables first. The output lists every assumption; docs/cost.md explains them.

    Example: rlvr plan PAPER --scale laptop
    """
    import pandas as pd

    from rlvr.config import paper_folders
    from rlvr.config.cluster import Cluster
    from rlvr.config.layers import read_yaml
    from rlvr.config.load import look_up
    from rlvr.config.validate import validate
    from rlvr.cost import hardware, summary
    from rlvr.cost.model import Costs
    from rlvr.cost.refusals import DoesNotFit
    from rlvr.files import publish
    from rlvr.planning.expansion import make_plan

    folder = folder_of(config_folder)
    to_write("--order", order)
    plans = make_plan(folder.parent, scale, papers or paper_folders.names(folder))
    if settings:
        costs = (device, nodes, gpus_per_node, gpus_per_run, table, price, measured, order)
        if any(option is not None for option in costs):
            fail("--settings: prints no cost; leave out the options of devices, tables and files")
        typer.echo(_settings(plans, as_json=as_json))
        return
    options = {"device": device, "nodes": nodes, "per_node": gpus_per_node}
    machine, origins = _machine(folder, scale, {key: value for key, value in options.items() if value is not None})
    specs = hardware.read(folder, measured)
    entry = look_up(specs.devices, machine.device, "device", origins.get("device", "the default device"))
    each = machine.per_node or entry.per_node
    only = [summary.named_item(plans, table)] if table else None
    if machine.nodes * each == 1:  # as the workflow is started there: --config gpus=1
        gpus_per_run = gpus_per_run or 1
    cluster = validate(Cluster, [read_yaml(folder / "cluster.yaml", folder.parent)])  # the workflow checks its rules
    costs = Costs(specs, machine.device, cluster, gpus_per_run=gpus_per_run)
    work, schedule = summary.scheduled(plans, costs, machine.nodes, each, only)
    if work.refused:
        raise DoesNotFit(work.refused, machine.device)
    if order is not None:
        columns = ["job", "kind", "gpus", "nodes", "start_hours", "end_hours", "first_for"]
        jobs = pd.DataFrame(summary.order(work, schedule), columns=columns)
        publish(order, jobs.to_csv(index=False, lineterminator="\n"))
    content = {
        "papers": list(plans.papers),
        "scale": plans.scale,
        "table": table,
        "device": {"name": machine.device, **entry.model_dump(exclude={"assumptions"})},
        "from": {"device": "the default", "nodes": "the default", "per_node": "config/hardware.yaml", **origins},
        "nodes": machine.nodes,
        "gpus_per_node": each,
        "total": summary.totals(work, schedule, price),
        "jobs": summary.by_model(work),
        "memory": summary.by_memory(work),
        "items": summary.by_item(plans, work, schedule),
        "longest_chain": summary.chain(work),
        "devices": summary.by_device(plans, costs, machine.nodes, each, only) if entry.unit == "GPU" else [],
        "assumptions": summary.assumptions(costs),
        "notes": summary.notes(plans, specs, machine.device, work),
    }
    typer.echo(json.dumps(content, indent=1, allow_nan=False) if as_json else _text(content))


def _machine(folder: Path, scale: str, options: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """The machine (a scale's `hardware`, replaced by options), and the origin of each part."""
    from rlvr.config.layers import read_yaml
    from rlvr.planning.papers import read_sources

    machine = read_sources(folder.parent, scale, []).scale.hardware.model_copy(update=options)
    origins = {key: OPTIONS[key] for key in options}
    name: str | None = scale
    while name is not None:  # a scale, and the scales below it
        layer = read_yaml(folder / "scale" / f"{name}.yaml", folder.parent)
        for key in layer.content.get("hardware") or {}:
            origins.setdefault(key, layer.place(("hardware",)))
        name = layer.content.get("like")
    return machine, origins


def _settings(plans: Any, *, as_json: bool) -> str:
    """Each setting with the paper's sentence (config/papers/<paper>/stated.yaml), as text or JSON."""
    from dataclasses import asdict

    from rlvr.planning import stated

    lines = {name: stated.lines(plans, name) for name, of in plans.papers.items() if of.paper.stated}
    if as_json:
        return json.dumps({name: [asdict(line) for line in of] for name, of in lines.items()}, indent=1)
    without = [name for name in plans.papers if name not in lines]
    parts = [
        f"{name} at scale {plans.scale}\n{_table([_row(line) for line in of], HEADS)}" for name, of in lines.items()
    ]
    return "\n\n".join([*parts, *(f"{name}: has no stated.yaml" for name in without)])


HEADS = ("setting", "of", "here", "the paper", "place", "verdict")
WIDTHS = (38, 24, 40, 40, 12, 30)


def _row(line: Any) -> tuple[str, ...]:
    import textwrap

    ours = "; ".join(f"{value} ({about})" if about else value for value, about in line.ours)
    says = line.says if line.place else ""
    cells = (line.setting, line.about, ours, says, line.place, line.fault or line.verdict)
    return tuple(textwrap.fill(cell, width) for cell, width in zip(cells, WIDTHS, strict=True))


# ---- text for people ----


def _text(content: dict[str, Any]) -> str:
    unit = content["device"]["unit"]
    head = _head(content, unit)
    if not content["jobs"]:
        return f"{head}\n\nno runs: every table and figure is a closed form or a list of settings"
    rows = [(a["name"], f"{a['value']:g}", a["unit"], a["source"]) for a in content["assumptions"]]
    parts = [
        f"{head}\nEstimates from a model with assumed rates (below), not measurements.",
        _totals(content["total"], unit),
        _jobs(content["jobs"], unit),
        _memory(content["memory"], unit),
        _items(content["items"], unit),
        _chain(content["longest_chain"], content["total"], unit),
        _devices(content["devices"]),
        _table(rows, ("assumption", "value", "unit", "source")),
        "\n".join(f"- {note}" for note in content["notes"]),
    ]
    return "\n\n".join(filter(None, parts))


def _head(content: dict[str, Any], unit: str) -> str:
    """The first lines: papers, scale and machine, and the origins of device and nodes."""
    title = ", ".join(content["papers"]) + (f", {content['table']} alone" if content["table"] else "")
    device, nodes, each = content["device"], content["nodes"], content["gpus_per_node"]
    plural = "" if unit == "GPU" else f"{unit}s: "
    parts = {"device": device["name"], "nodes": _count(nodes, "node"), "per_node": f"{_count(each, unit)} a node"}
    origins: dict[str, list[str]] = {}
    for key, text in parts.items():
        origins.setdefault(content["from"][key], []).append(text)
    where = "; ".join(f"{', '.join(text)} from {origin}" for origin, text in origins.items())
    return f"{title} at scale {content['scale']} on {nodes} x {each} {plural}{device['about']}\nDevice: {where}."


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" + ("" if number == 1 else "s")


def _totals(total: dict[str, Any], unit: str) -> str:
    rows = [
        ("RL runs, SFTs, evaluations", f"{total['runs']}, {total['sft']}, {total['evaluations']}"),
        ("jobs that train or sample", f"{total['jobs']:,}"),
        (f"{unit}-hours", _hours(total["gpu_hours"])),
        ("makespan", _time(total["makespan_hours"])),
        (f"idle share of the {unit}s", f"{total['idle_share']:.1%}"),
        ("longest chain", _time(total["longest_chain_hours"])),
        ("tokens sampled", f"{total['tokens']:.2g}"),
        ("FLOPs", f"{total['flops']:.2g}"),
        ("disk", _bytes(total["disk_bytes"])),
        ("of it checkpoints of runs in flight at once", _bytes(total["checkpoint_bytes"])),
    ]
    if total["price"] is not None:
        rows.append(("price", f"{total['price']:,.0f}"))
    return _table(rows, ("total", ""))


def _jobs(jobs: list[dict[str, Any]], unit: str) -> str:
    rows = [
        (
            *(row["model"], row["kind"], row["jobs"], row["steps"] or ""),
            *(f"{row['tokens']:.2g}", f"{row['flops']:.2g}"),
            *(row["gpus"], _time(row["hours"]), _hours(row["gpu_hours"])),
        )
        for row in jobs
    ]
    last = (f"{unit}s", "each takes", f"{unit}-hours, all")
    return _table(rows, ("model", "kind", "jobs", "steps", "tokens", "FLOPs", *last))


def _memory(rows: list[dict[str, Any]], unit: str) -> str:
    """The peak of each phase in GB, the phase's largest parts, and what a device can hold."""
    from rlvr.cost.memory import largest_parts

    if not rows:
        return ""
    phases = list(dict.fromkeys(phase for row in rows for phase in row["peaks"]))
    cells = [
        (
            *(row["model"], row["kind"], row["runs"], row["gpus"]),
            *(f"{row['peaks'][phase] / 1e9:.1f}" if phase in row["peaks"] else "" for phase in phases),
            f"{row['usable'] / 1e9:.1f}",
            largest_parts(row["phases"][max(row["peaks"], key=row["peaks"].get)]),
        )
        for row in rows
    ]
    names = (f"GB of a {unit} in {phases[0]}", *phases[1:], "usable", "of the peak")
    return _table(cells, ("model", "kind", "jobs", f"{unit}s", *names))


def _items(items: list[dict[str, Any]], unit: str) -> str:
    rows = [
        (
            f"{row['paper']}/{row['item']}" + (" (core)" if row["core"] else ""),
            *(row["runs"], row["evaluations"], _hours(row["alone_gpu_hours"]), _hours(row["added_gpu_hours"])),
            *(_hours(row["only_gpu_hours"]), _time(row["done_hours"])),
        )
        for row in items
    ]
    hours = (f"{unit}-hours alone", "beyond those above", "saved without")
    return _table(rows, ("table or figure", "runs", "evaluations", *hours, "done"))


def _chain(jobs: list[dict[str, Any]], total: dict[str, Any], unit: str) -> str:
    lines = [f"  {_time(job['hours']):>12}  {_count(job['gpus'], unit)}  {job['kind']}: {job['job']}" for job in jobs]
    return "\n".join([f"longest chain, {_time(total['longest_chain_hours'])}:", *lines])


def _devices(devices: list[dict[str, Any]]) -> str:
    if not devices:
        return ""
    rows = [(row["device"], row["about"], *_on_device(row)) for row in devices]
    names = ("GPUs a run", "largest memory", "GPU-hours", "makespan", "idle")
    return _table(rows, ("--device", "on as many of", *names))


def _on_device(row: dict[str, Any]) -> tuple[Any, ...]:
    if "problem" in row:
        return "does not fit", "", "", "", ""
    memory = f"{row['memory_bytes'] / 1e9:.1f} of {row['memory'] / 1e9:.0f} GB"
    time = _time(row["makespan_hours"])
    return row["gpus_a_run"], memory, _hours(row["gpu_hours"]), time, f"{row['idle_share']:.1%}"


def _table(rows: list[Any], headers: tuple[str, ...]) -> str:
    from tabulate import tabulate

    return tabulate(rows, headers=headers, disable_numparse=True)


def _hours(hours: float) -> str:
    if hours == 0:
        return "0"
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.1f}" if hours >= 1 else f"{hours:.3f}"


def _time(hours: float) -> str:
    if hours == 0:
        return "0"
    if hours >= 72:
        return f"{hours / 24:.1f} days"
    if hours >= 2:
        return f"{hours:.1f} h"
    return f"{hours * 60:.1f} min" if hours >= 1 / 30 else f"{hours * 3600:.0f} s"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.1f} {unit}"

"""`rlvr verl-config`: the configuration of verl for a run or an SFT."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.checkout import ConfigFolder, folder_of
from rlvr.commands.lines import fail, say
from rlvr.stage_options import GpusPerNode, Nodes
from rlvr.suggest import named


def verl_config(
    run: Annotated[
        str, typer.Argument(help="The id of a run or of an SFT by verl, or a unique prefix.", show_default=False)
    ],
    scale: Annotated[str, typer.Option(help="One of config/scale/.")] = "paper",
    paper: Annotated[list[str] | None, typer.Option(help="Papers to search; default: all.")] = None,
    nodes: Nodes = 1,
    gpus_per_node: GpusPerNode = 8,
    device: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="A GPU of config/hardware.yaml for the memory.", show_default="the scale's"),
    ] = None,
    config_folder: ConfigFolder = None,
) -> None:
    """Print the overrides of verl's configuration for a run or an SFT, one per line, in hydra's syntax.

    Its memory on one GPU goes to the standard error, and exit code 2 says that it cannot fit.

    Example: rlvr verl-config RUN --nodes 2
    """
    from rlvr.config import paper_folders
    from rlvr.planning.expansion import make_plan
    from rlvr.training.backends.verl.overrides import Unsupported

    folder = folder_of(config_folder)
    papers = paper or paper_folders.names(folder)
    plan = make_plan(folder.parent, scale, papers)
    valid = [*plan.runs, *(name for name, spec in plan.policies.items() if spec.sft and spec.sft.backend == "verl")]
    name = named(run, valid, f"the runs at scale {scale}")
    try:
        lines = _overrides(folder, plan, name, nodes, gpus_per_node)
    except Unsupported as error:
        fail(f"{name}: {error}")
    for line in lines:
        typer.echo(line)
    lines, refusal = _memory(folder, plan, name, device, nodes * gpus_per_node)
    for line in lines:
        say(line)
    if refusal:
        fail(refusal)


def _overrides(folder: Path, plan: Any, name: str, nodes: int, gpus_per_node: int) -> list[str]:
    """The lines of a run or an SFT, with the places of its files where the workflow has them."""
    from rlvr import stage_options
    from rlvr.config.paths import Paths
    from rlvr.cost import hardware
    from rlvr.training.backends.verl.overrides import Places, Unsupported, overrides, sft_overrides

    state, paths = Path(f"results/{plan.stage(name)}/state"), Paths("results", plan.scale)
    if name not in plan.runs:
        if nodes > 1:
            raise Unsupported(f"an SFT by verl runs on one node (got {nodes})")
        spec = plan.policies[name]
        start = getattr(spec.model, "repo", None) or str(Path(paths.model(spec.model)).parent / "policy")
        places = Places.of(state, start)
        return sft_overrides(
            spec.sft, start, places.tokenizer, places.train, places.state, stage_options.SFT_SAVE_EVERY
        )
    spec = plan.runs[name]
    model = spec.base.model
    start = getattr(model, "repo", None) or str(Path(paths.manifest(plan, plan.base_of(name))).parent / "policy")
    sees = hardware.read(folder).shape(model).vision is not None
    places = Places.of(state, start, nodes, gpus_per_node, pictures=sees)
    return overrides(spec, places, plan.executions[name])


def _memory(folder: Path, plan: Any, name: str, device: str | None, gpus: int) -> tuple[list[str], str]:
    """One line per phase with its memory on one GPU, and why it cannot fit, if so. Nothing on a processor."""
    from rlvr.config.load import look_up
    from rlvr.cost import hardware
    from rlvr.cost.memory import fitted, largest_parts, sft_fitted
    from rlvr.planning.papers import read_sources

    specs = hardware.read(folder)
    on = device or read_sources(folder.parent, plan.scale, []).scale.hardware.device
    if look_up(specs.devices, on, "device", "--device").unit != "GPU":
        return [], ""
    if name in plan.runs:
        memory, refusal = fitted(plan.runs[name], plan.executions[name], specs, on, gpus)
    else:
        memory, refusal = sft_fitted(plan.policies[name].sft, plan.policies[name].model, specs, on, gpus)
    return [
        f"{phase}: {sum(parts.values()) / 1e9:.1f} of {memory.usable / 1e9:.1f} GB on {on} ({largest_parts(parts)})"
        for phase, parts in memory.phases.items()
    ], f"{refusal} on {on}" if refusal else ""

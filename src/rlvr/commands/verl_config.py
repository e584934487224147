"""`rlvr verl-config`: the configuration of verl for a run."""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.checkout import ConfigFolder
from rlvr.commands.checkout import config_folder as folder_of
from rlvr.commands.lines import fail, say


def verl_config(
    run: Annotated[str, typer.Argument(help="A run's id, or a unique prefix.", show_default=False)],
    scale: Annotated[str, typer.Option(help="One of config/scale/.")] = "paper",
    paper: Annotated[list[str] | None, typer.Option(help="Papers to search; default: all.")] = None,
    nodes: Annotated[int, typer.Option(help="Nodes of the job.", min=1)] = 1,
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of a node.", min=1)] = 8,
    device: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="A GPU of config/hardware.yaml for the memory.", show_default="the scale's"),
    ] = None,
    config_folder: ConfigFolder = None,
) -> None:
    """Print the overrides of verl's configuration for a run, one per line, in hydra's syntax.

    The run's memory on one GPU goes to the standard error, and exit code 2 says that it cannot fit.
    """
    from rlvr.config.load import ConfigError
    from rlvr.config.paths import Paths
    from rlvr.cost import hardware
    from rlvr.planning.expansion import make_plan
    from rlvr.training.backends.verl.overrides import Places, Unsupported, overrides

    folder = folder_of("verl-config", config_folder)
    papers = paper or sorted(path.stem for path in (folder / "papers").glob("*.yaml"))
    try:
        plan = make_plan(folder.parent, scale, papers)
    except ConfigError as error:
        fail("verl-config", str(error).splitlines()[0])
    matches = [run] if run in plan.runs else [name for name in plan.runs if name.startswith(run)]
    if len(matches) != 1:
        fail("verl-config", f"{run!r}: {_which(run, matches or list(plan.runs), scale, ambiguous=bool(matches))}")
    spec, paths = plan.runs[matches[0]], Paths("results", scale)
    model = spec.base.model
    start = getattr(model, "repo", None) or str(Path(paths.manifest(plan, plan.base_of(matches[0]))).parent / "policy")
    state = Path(f"{paths.results}/runs/{matches[0]}/state")
    sees = hardware.read(folder).shape(model).vision is not None
    places = Places.of(state, start, nodes, gpus_per_node, pictures=sees)
    try:
        lines = overrides(spec, places, plan.executions[matches[0]])
    except Unsupported as error:
        fail("verl-config", f"{matches[0]}: {error}")
    for line in lines:
        typer.echo(line)
    try:
        lines, refusal = _memory(folder, plan, matches[0], device, nodes * gpus_per_node)
    except ConfigError as error:
        fail("verl-config", str(error).splitlines()[0])
    for line in lines:
        say("verl-config", line)
    if refusal:
        fail("verl-config", refusal)


def _memory(folder: Path, plan: Any, run: str, device: str | None, gpus: int) -> tuple[list[str], str]:
    """One line per phase with its memory on one GPU, and why the run cannot fit, if so. Nothing on a processor."""
    from rlvr.config.load import look_up
    from rlvr.cost import hardware
    from rlvr.cost.memory import fitted, largest_parts
    from rlvr.planning.papers import read_sources

    specs = hardware.read(folder)
    name = device or read_sources(folder.parent, plan.scale, []).scale.hardware.device
    if look_up(specs.devices, name, "device", "--device").unit != "GPU":
        return [], ""
    memory, refusal = fitted(plan.runs[run], plan.executions[run], specs, name, gpus)
    return [
        f"{phase}: {sum(parts.values()) / 1e9:.1f} of {memory.usable / 1e9:.1f} GB on {name} ({largest_parts(parts)})"
        for phase, parts in memory.phases.items()
    ], f"{refusal} on {name}" if refusal else ""


def _which(run: str, names: list[str], scale: str, *, ambiguous: bool) -> str:
    """The message for an unknown or ambiguous prefix, with the nearest run."""
    close = next(iter(get_close_matches(run, names, n=1, cutoff=0.0)), None)
    if close is None:
        return f"there are no runs at scale {scale}"
    if ambiguous:
        return f"{len(names)} runs at scale {scale} begin so, the nearest is {close}; give more of the name"
    return f"no run at scale {scale} begins so; the nearest of the {len(names)} is {close}"

"""Stage: statistics. Computes those of one table or figure."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import stage_options
from rlvr.config.layouts import numbers_of
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import publish, read_json
from rlvr.items import REFERENCE, Kind, kind_of, kinds, layout
from rlvr.items.inputs import source


def files(plan: Plan, paper: str, name: str, paths: Paths) -> dict[str, list[str]]:
    """The files that an item's statistics read, by the names of inputs."""
    item = plan.papers[paper].item(name)
    names = [name for name in kind_of(item).reads if name != REFERENCE]
    return {name: source(name).files(item, paths, plan, paper) for name in names}


def specification(plan: Plan, paper: str, name: str, reference: str | None) -> dict[str, Any]:
    """The stage's specification, with files relative to the results folder. `reference` is the published table."""
    item, below = plan.papers[paper].item(name), Paths(".", plan.scale)
    numbers = numbers_of(layout.of(plan, paper, name))
    content = {"folder": item.folder, "layout": numbers, "files": files(plan, paper, name, below)}
    return content | ({REFERENCE: reference} if reference else {})


def computed(kind: Kind, layout: Any, inputs: dict[str, Any]) -> str:
    """The statistics as CSV, from what they read by the names of inputs; `layout` is that of their specification."""
    assert kind.statistics is not None
    frame = kind.statistics(kind.read(layout), **inputs)
    return frame.to_csv(index=False, float_format=kind.floats, lineterminator="\n")


def main(
    spec: stage_options.Spec, results: stage_options.Results, out: Annotated[Path, typer.Option(help="CSV to write.")]
) -> None:
    """Compute the statistics of a table or figure."""
    content = read_json(spec)
    kind = kinds(content["folder"]).load(content["layout"]["kind"])
    inputs = {key: source(key).read([results / name for name in names]) for key, names in content["files"].items()}
    if REFERENCE in kind.reads:
        inputs[REFERENCE] = Path(content[REFERENCE]) if content.get(REFERENCE) else None
    publish(out, computed(kind, content["layout"], inputs))


if __name__ == "__main__":
    typer.run(main)

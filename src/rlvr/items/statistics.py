"""Stage: statistics. Computes those of one table or figure."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import items, stages
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import publish, read_json
from rlvr.items import layout
from rlvr.items.inputs import INPUTS, REFERENCE

SHOWN = (
    "name",
    "title",
    "note",
    "scale",
    "about_scale",
    "arms",
    "methods",
    "colors",
    "lines",
    "published",
)  # what only a table or a picture tells
FLOATS = "%.6g"  # how numbers are written, where a kind does not say


def files(plan: Plan, paper: str, name: str, paths: Paths) -> dict[str, list[str]]:
    """The files that an item's statistics read, by the names of inputs."""
    item = plan.papers[paper].item(name)
    parameters = items.parameters(items.load(item.folder, item.content.kind), "statistics")
    return {key: source.files(item, paths, plan) for key, source in INPUTS.items() if key in parameters}


def specification(plan: Plan, paper: str, name: str, reference: str | None) -> dict[str, Any]:
    """The stage's specification, with files relative to the results folder. `reference` is the published table."""
    item, below = plan.papers[paper].item(name), Paths(".", plan.scale)
    numbers = {key: value for key, value in layout.of(plan, paper, name).items() if key not in SHOWN}
    content = {"folder": item.folder, "layout": numbers, "files": files(plan, paper, name, below)}
    return content | ({REFERENCE: reference} if reference else {})


def main(spec: stages.Spec, results: stages.Results, out: Annotated[Path, typer.Option(help="CSV to write.")]) -> None:
    """Compute the statistics of a table or figure."""
    content = read_json(spec)
    kind = items.load(content["folder"], content["layout"]["kind"])
    inputs = {key: INPUTS[key].read([results / name for name in names]) for key, names in content["files"].items()}
    if REFERENCE in items.parameters(kind, "statistics"):
        inputs[REFERENCE] = Path(content[REFERENCE]) if content.get(REFERENCE) else None
    frame = kind.statistics(content["layout"], **inputs)
    publish(out, frame.to_csv(index=False, float_format=items.hook(kind, "FLOATS", FLOATS), lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

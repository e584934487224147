"""Stage: measure. A measure of a trained run (`rlvr.config.measures.RunMeasure`)."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from rlvr import provenance, stage_options
from rlvr.config.measures import RUN_MEASURES
from rlvr.files import publish_json, publish_lines


def main(
    measure: Annotated[str, typer.Option(help="The measure's name.")],
    base: stage_options.Base,
    run: Annotated[Path, typer.Option(help="The run's manifest.")],
    problems: stage_options.Problems,
    out: Annotated[Path, typer.Option(help="rows.jsonl to write, one row per step; summary.json beside it.")],
) -> None:
    """Measure one run."""
    origin = provenance.collect()
    rows, summary = RUN_MEASURES.load(measure).compute(base, run, problems)
    publish_lines(out, rows)
    publish_json(out.with_name("summary.json"), {**summary, "provenance": provenance.at_once(origin)})


if __name__ == "__main__":
    torch.set_num_threads(1 if not torch.cuda.is_available() else torch.get_num_threads())
    typer.run(main)

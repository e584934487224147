"""Stage: tables. Writes one table as CSV, Markdown and LaTeX."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import stage_options
from rlvr.config.plan import Plan
from rlvr.files import read_json
from rlvr.items import REFERENCE, STATISTICS, TABLE_KINDS, layout


def specification(plan: Plan, paper: str, name: str, reference: str | None) -> dict[str, Any]:
    """The stage's specification. `reference` is the published table."""
    content = {"layout": layout.of(plan, paper, name).model_dump(mode="json")}
    return content | ({REFERENCE: reference} if reference else {})


def main(
    spec: stage_options.Spec,
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
    statistics: Annotated[Path | None, typer.Option(help="CSV of rlvr.items.statistics; optional.")] = None,
) -> None:
    """Write a table."""
    content = read_json(spec)
    kind, inputs = TABLE_KINDS.load(content["layout"]["kind"]), {}
    if STATISTICS in kind.rendered_from:
        as_text = {"dtype": str, "keep_default_na": False} if kind.as_text else {}
        inputs[STATISTICS] = pd.read_csv(statistics, **as_text)  # type: ignore[arg-type]
    if REFERENCE in kind.rendered_from:
        inputs[REFERENCE] = Path(content[REFERENCE]) if content.get(REFERENCE) else None
    kind.render(kind.read(content["layout"]), **inputs).write(out)


if __name__ == "__main__":
    typer.run(main)

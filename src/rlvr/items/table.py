"""Stage: tables. Sets one table, as its kind renders it, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import items, stages
from rlvr.config.plan import Plan
from rlvr.files import read_json
from rlvr.items import TABLES, layout
from rlvr.items.inputs import REFERENCE

STATISTICS = "statistics"


def told(plan: Plan, paper: str, name: str, reference: str | None) -> dict[str, Any]:
    """What this stage is told. `reference` is the published table."""
    content = {"layout": layout.of(plan, paper, name)}
    return content | ({REFERENCE: reference} if reference else {})


def main(
    told: stages.Told,
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
    statistics: Annotated[Path | None, typer.Option(help="CSV of rlvr.items.statistics, where there is one.")] = None,
) -> None:
    """Set a table."""
    content = read_json(told)
    kind = items.load(TABLES, content["layout"]["kind"])
    wanted, given = items.parameters(kind, "render"), {}
    if STATISTICS in wanted:
        as_text = {"dtype": str, "keep_default_na": False} if items.hook(kind, "AS_TEXT", False) else {}
        given[STATISTICS] = pd.read_csv(statistics, **as_text)  # type: ignore[arg-type]
    if REFERENCE in wanted:
        given[REFERENCE] = Path(content[REFERENCE]) if content.get(REFERENCE) else None
    kind.render(content["layout"], **given).write(out)


if __name__ == "__main__":
    typer.run(main)

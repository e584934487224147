"""Stage: tables. What a paper prints and this project has not run: the published values, marked so."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr.tables.render import Rendered

NOT_RUN = "not yet run"


def render(layout: dict[str, Any], published: pd.DataFrame) -> Rendered:
    """A row a method with its published values, a column a benchmark (and k, where it has several)."""
    several = published["k"].nunique() > 1
    names = published["benchmark"] + (" @" + published["k"].astype(str) if several else "")
    wide = published.assign(column=names).pivot_table(
        index=["model", "method"], columns="column", values="value", aggfunc="first", sort=False
    )
    wide = wide[list(dict.fromkeys(names))].reset_index()
    wide.insert(2, "ours", NOT_RUN)
    columns = ["Model", "Method", "ours", *(f"{name} (published)" for name in wide.columns[3:])]
    text = wide.astype(object).where(wide.notna(), "").astype(str)
    notes = [f"{len(wide)} rows {NOT_RUN}. " + (layout["note"] or "")]
    return Rendered(
        layout["title"], "Published values alone: nothing of this table was run.", text.set_axis(columns, axis=1), notes
    )


def main(
    layout: Annotated[str, typer.Option(help="Title and note, as JSON.")],
    reference: Annotated[Path, typer.Option(help="CSV with the published values.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
) -> None:
    """Set a table of published values."""
    render(json.loads(layout), pd.read_csv(reference)).write(out)


if __name__ == "__main__":
    typer.run(main)

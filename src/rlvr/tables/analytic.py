"""Stage: tables. A table of closed forms, as it was computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.tables.render import Rendered


def main(
    layout: Annotated[str, typer.Option(help="Title and note, as JSON.")],
    statistics: Annotated[Path, typer.Argument(help="CSV of rlvr.theory.analytic.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
) -> None:
    """Set an analytic table."""
    content = json.loads(layout)
    frame = pd.read_csv(statistics, dtype=str, keep_default_na=False)
    notes = [content["note"]] if content["note"] else []
    Rendered(content["title"], "Closed forms: the same at any scale, no run behind them.", frame, notes).write(out)


if __name__ == "__main__":
    typer.run(main)

"""Stage: score. The scores of several policies in one CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.records import publish


def main(
    scores: Annotated[list[Path], typer.Argument(help="scores.csv files.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
) -> None:
    """Put score files under each other."""
    frame = pd.concat([pd.read_csv(path) for path in scores], ignore_index=True)
    publish(out, frame.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

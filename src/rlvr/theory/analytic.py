"""Stage: statistics of an analytic table or figure, the same at any scale: a module of rlvr.theory.closed_forms."""

import importlib
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.config import registries
from rlvr.files import publish


def frame(content: str) -> pd.DataFrame:
    """The closed form of that name."""
    return importlib.import_module(f"rlvr.theory.closed_forms.{content}").frame()


def main(
    content: Annotated[str, typer.Option(help=f"One of {', '.join(registries.analytic_contents())}.")],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
) -> None:
    """Compute an analytic table or figure."""
    publish(out, frame(content).to_csv(index=False, lineterminator="\n", float_format="%.9g"))


if __name__ == "__main__":
    typer.run(main)

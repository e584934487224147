"""Options that several stages have, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Spec = Annotated[
    Path, typer.Option(help="What to make: JSON of a class in rlvr.config.schema.", exists=True, dir_okay=False)
]
Execution = Annotated[
    Path, typer.Option(help="How to make it: JSON of rlvr.config.schema.Execution.", exists=True, dir_okay=False)
]
Told = Annotated[Path, typer.Option(help="What the plan tells this stage: a JSON file.", exists=True, dir_okay=False)]
Results = Annotated[Path, typer.Option(help="The results folder.")]

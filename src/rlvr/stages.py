"""Options that several stages have, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

Spec = Annotated[Path, Option(help="What to make: JSON of a class in rlvr.config.schema.", exists=True, dir_okay=False)]
Execution = Annotated[Path, Option(help="How: JSON of the schema's Execution.", exists=True, dir_okay=False)]

Model = Annotated[Path, Option(help="Manifest of the model to start from.")]
Base = Annotated[Path, Option(help="Manifest of the policy to start from; also the reference.")]
Demonstrations = Annotated[Path, Option(help="demonstrations.jsonl")]
Problems = Annotated[Path, Option(help="problems.jsonl to train on, or of the benchmark.")]
Validation = Annotated[Path, Option(help="problems.jsonl for held-out measurements.")]

Manifest = Annotated[Path, Option("--out", help="Manifest to write; what it vouches for is written beside it.")]
State = Annotated[Path, Option(help="Folder for what a later job goes on from; survives a failed job.")]

SaveEvery = Annotated[int, Option(help="Steps between checkpoints.")]
Nodes = Annotated[int, Option(help="Nodes of the job.", min=1)]
GpusPerNode = Annotated[int, Option(help="GPUs of a node.", min=1)]
Override = Annotated[list[str] | None, Option(help="key=value of the backend's own configuration, after all others.")]

Told = Annotated[Path, Option(help="What the plan tells this stage: a JSON file.", exists=True, dir_okay=False)]
Results = Annotated[Path, Option(help="The results folder.")]

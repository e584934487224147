"""Command-line options that several stages share."""

from pathlib import Path
from typing import Annotated

from typer import Option

Spec = Annotated[Path, Option(help="JSON file of the plan: what to do.", exists=True, dir_okay=False)]
Execution = Annotated[Path, Option(help="JSON of the schema's Execution: how to do it.", exists=True, dir_okay=False)]

Model = Annotated[Path, Option(help="Manifest of the model to start from.")]
Base = Annotated[Path, Option(help="Manifest of the policy to start from; also the reference.")]
Demonstrations = Annotated[Path, Option(help="demonstrations.jsonl")]
Problems = Annotated[Path, Option(help="problems.jsonl to train on, or of the benchmark.")]
Validation = Annotated[Path, Option(help="problems.jsonl for held-out measurements.")]

Source = Annotated[str, Option(help="The file or folder of a local data set or model; empty for others.")]
Manifest = Annotated[Path, Option("--out", help="Manifest to write; its files are written beside it.")]
State = Annotated[Path, Option(help="Folder of state to resume from; survives a failed job.")]

SFT_SAVE_EVERY = 100  # steps between an SFT's checkpoints
SaveEvery = Annotated[int, Option(help="Steps between checkpoints.")]
SaveMinutes = Annotated[float, Option(help="Minutes between checkpoints, if steps take long.")]
Threads = Annotated[int, Option(help="Threads, which change no number.", min=1)]
Nodes = Annotated[int, Option(help="Nodes of the job.", min=1)]
GpusPerNode = Annotated[int, Option(help="GPUs of a node.", min=1)]
Override = Annotated[list[str] | None, Option(help="key=value of the backend's own configuration; wins over others.")]

Results = Annotated[Path, Option(help="The results folder.")]

"""Stage: tables. Training hyper-parameters, generated from the configuration, beside the published ones."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr.tables.render import Rendered
from rlvr.tables.scored import scale_line

# The published table's rows and the settings that hold them.
ROWS = {
    "Total epochs": "rl.epochs",
    "Training batch size": "rl.prompts_per_step",
    "Mini-batch size": "rl.prompts_per_minibatch",
    "Micro-batch size per GPU": "rl.sequences_per_microbatch",
    "Learning rate": "rl.learning_rate",
    "Optimizer": "rl.optimizer",
    "Temperature": "rollout.temperature",
    "Max prompt length": "rollout.max_prompt_tokens",
    "Max response length": "rollout.max_response_tokens",
    "Rollout samples per prompt": "rollout.samples_per_prompt",
    "Validation samples": "evaluation.samples",
    "GPU memory utilization": "execution.gpu_memory_utilization",
    "KL coefficient beta": "loss.kl_coefficient",
}


def render(layout: dict[str, Any], published: pd.DataFrame) -> Rendered:
    """`layout["settings"]` holds the merged settings by model, without any arm's."""
    lines, differing = [], 0
    for label, dotted in ROWS.items():
        section, key = dotted.split(".")
        line = [label]
        for model in layout["models"]:
            settings = layout["settings"][model]
            value, paper = settings[section][key], _value(published, model, label)
            same = paper is not None and _same(value, paper)
            differing += not same
            line += [f"{value:g}" if isinstance(value, float) else str(value), ("" if paper is None else paper)]
        lines.append(line)
    columns = ["Hyperparameter"]
    for model in layout["models"]:
        columns += [model, f"{model} (published)"]
    notes = [
        f"{differing} of {len(ROWS) * len(layout['settings'])} values differ from the published ones at this scale.",
        "The published row `Enable thinking` (Qwen3: False) is no knob here: prompts are templates without a thinking "
        "block (config/models.yaml).",
        "Without any arm's settings: DAPO arms change clip range, aggregation, KL and sampling (config/papers/).",
    ]
    if layout["steps"]:
        notes.append("Steps, where a scale sets them in place of epochs: " + layout["steps"] + ".")
    return Rendered(layout["title"], scale_line(layout), pd.DataFrame(lines, columns=columns), notes)


def _value(published: pd.DataFrame, model: str, label: str) -> str | None:
    found = published[(published["model"].str.lower() == model) & (published["method"] == label)]
    return None if found.empty else str(found["value"].iloc[0])


def _same(ours: Any, paper: str) -> bool:
    try:
        return float(ours) == float(paper)
    except ValueError:
        return str(ours) == paper


def main(
    layout: Annotated[str, typer.Option(help="Title, scale and settings by model, as JSON.")],
    reference: Annotated[Path, typer.Option(help="CSV with the published values.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
) -> None:
    """Set a table of hyper-parameters."""
    render(json.loads(layout), pd.read_csv(reference, dtype=str)).write(out)


if __name__ == "__main__":
    typer.run(main)

"""Stage: data. Writes a data set's problems, its demonstrations where it has any, and its card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pydantic import TypeAdapter

from rlvr.config.schema import Data, OperatorFill
from rlvr.records import publish_json, publish_records, sha256
from rlvr.tasks import math_words, operator_fill


def main(
    spec: Annotated[str, typer.Option(help="The data set, as JSON (rlvr.config.schema.Data).")],
    out: Annotated[Path, typer.Option(help="Folder for problems.jsonl, demonstrations.jsonl and card.json.")],
) -> None:
    """Make or fetch one data set."""
    data = TypeAdapter(Data).validate_json(spec)
    card: dict[str, object] = {"name": data.name, "spec": data.model_dump(mode="json")}
    if isinstance(data, OperatorFill):
        generator = np.random.Generator(np.random.PCG64(data.seed))
        problems = operator_fill.generate_problems(data.part, data.levels, data.problems, data.max_solutions, generator)
        if data.demonstrations is not None:
            shown = operator_fill.demonstrate(problems, data.demonstrations, data.random_share, generator)
            publish_records(out / "demonstrations.jsonl", shown)
            card["demonstrations"] = len(shown)
        card["licence"] = "made by this project, Apache-2.0"
    else:
        problems, counts = math_words.load(data)
        card |= counts
    publish_records(out / "problems.jsonl", problems)
    card |= {"problems": len(problems), "sha256": sha256(out / "problems.jsonl")}
    publish_json(out / "card.json", card)


if __name__ == "__main__":
    typer.run(main)

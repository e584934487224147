"""Questions from other sets, for a set whose rows name a set, a split and an index instead of a question."""

from pathlib import Path
from typing import Any

from rlvr.config.schema.models_and_data import Published
from rlvr.data.rows import read
from rlvr.data.sources import brought, from_hub

Questions = dict[str, list[Any]]  # "<set>/<split>" -> the questions, by index


def questions(spec: Published, folder: Path) -> Questions:
    """The original sets' questions, from files in `folder`/<set>-<split>/, else from the hub."""
    by_set: Questions = {}
    for name, original in spec.originals.items():
        home = folder / name.replace("/", "-").replace("_", "-")
        paths = brought(original, home) or from_hub(original, home)[0]
        by_set[name] = [row["prompt"] for path in paths for row in read(path, {"prompt": original.prompt}, ())]
    return by_set


def question_of(row: dict[str, Any], originals: Questions) -> Any:
    """The question that a row names, or None."""
    candidates = originals.get(f"{row['dataset']}/{row['split']}", [])
    index = str(row["index"])
    return candidates[int(index)] if index.isascii() and index.isdigit() and int(index) < len(candidates) else None

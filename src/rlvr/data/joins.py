"""Questions that a set leaves to others: its rows name a set, a split and a row's index there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlvr.config.schema.names import Published
from rlvr.data.rows import read
from rlvr.data.sources import brought, from_hub

Questions = dict[str, list[Any]]  # "<set>/<split>" -> the questions, by index


def questions(spec: Published, folder: Path) -> Questions:
    """The original sets' questions, from files brought to `folder`/<set>-<split>/, else from the hub."""
    found: Questions = {}
    for name, original in spec.originals.items():
        home = folder / name.replace("/", "-").replace("_", "-")
        paths = brought(original, home) or from_hub(original, home)[0]
        found[name] = [row["prompt"] for path in paths for row in read(path, {"prompt": original.prompt}, ())]
    return found


def question_of(row: dict[str, Any], found: Questions) -> Any:
    """The question that a row points to, or None."""
    known = found.get(f"{row['dataset']}/{row['split']}", [])
    index = str(row["index"])
    return known[int(index)] if index.isascii() and index.isdigit() and int(index) < len(known) else None

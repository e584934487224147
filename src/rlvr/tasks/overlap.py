"""Stage: data. Checks that no problem stands in two of a paper's sets, and records the counts."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from rlvr.records import Problem, publish_json, read_records


def main(
    sets: Annotated[list[Path], typer.Argument(help="problems.jsonl of each set.")],
    out: Annotated[Path, typer.Option(help="JSON with the size of each set and the overlap of each pair.")],
    tolerate: Annotated[bool, typer.Option(help="Record overlaps between published sets, do not fail.")] = False,
) -> None:
    """Fail (exit 1) where two sets share a problem, by normalised text."""
    texts = {path.parent.name: {_normal(p.prompt) for p in read_records(path, Problem)} for path in sets}
    shared = {f"{a} & {b}": len(texts[a] & texts[b]) for a, b in combinations(sorted(texts), 2)}
    found = {pair: count for pair, count in shared.items() if count}
    if found and not tolerate:
        sys.exit(f"sets that must be disjoint share problems: {found}")
    publish_json(out, {"problems": {name: len(found) for name, found in texts.items()}, "shared": shared})


def _normal(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum() or character in "=+-*/")


if __name__ == "__main__":
    typer.run(main)

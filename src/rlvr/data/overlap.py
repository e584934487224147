"""Stage: data. Checks that no test problem is a training problem, and records what a paper's sets share."""

import sys
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.data import similarity
from rlvr.files import publish_json

EXAMPLES = 5


def main(
    sets: Annotated[list[Path], typer.Argument(help="problems.jsonl of each set.")],
    out: Annotated[Path, typer.Option(help="JSON with the size of each set and the overlap of each pair.")],
    training: Annotated[
        list[Path] | None, typer.Option(help="The training sets among them: two of these may share problems.")
    ] = None,
    tolerate: Annotated[bool, typer.Option(help="Record overlaps between published sets instead of failing.")] = False,
    near: Annotated[
        bool,
        typer.Option(
            help="Also record near-duplicates, by id. Useless for operator fill: its problems differ in one number."
        ),
    ] = False,
) -> None:
    """Fail (exit 1) if two sets, not both training sets, share a problem, by normalised text."""
    texts = {path.parent.name: similarity.texts(path) for path in sets}
    normal = {name: {similarity.normal(text) for text in by_id.values()} for name, by_id in texts.items()}
    shared = {f"{a} & {b}": len(normal[a] & normal[b]) for a, b in combinations(sorted(texts), 2)}
    trained = sorted(path.parent.name for path in training or [])
    allowed = {f"{a} & {b}" for a, b in combinations(trained, 2)}
    overlaps = {pair: count for pair, count in shared.items() if count and pair not in allowed}
    if overlaps and not tolerate:
        sys.exit(f"sets that must be disjoint share problems: {overlaps}")
    content: dict[str, Any] = {"problems": {name: len(problems) for name, problems in normal.items()}, "shared": shared}
    if near:
        content["compared"] = {f"{a} & {b}": compare(texts[a], texts[b]) for a, b in combinations(sorted(texts), 2)}
    publish_json(out, content)


def compare(a: dict[str, str], b: dict[str, str]) -> dict[str, Any]:
    """Counts of texts of `a` equal to one of `b` and of near pairs, with the first ids of each."""
    equal, near = similarity.equal(a, b), similarity.near(a, b)
    return {
        "equal": len(equal),
        "near": len(near),
        "equal_examples": equal[:EXAMPLES],
        "near_examples": [[one, other, round(by, 3)] for one, other, by in near[:EXAMPLES]],
    }


if __name__ == "__main__":
    typer.run(main)

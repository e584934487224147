"""Inputs of a kind's `statistics`, by parameter name: their files and how to read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config.paths import Paths
from rlvr.config.plan import Item
from rlvr.files import read_lines
from rlvr.statistics.run_rows import Runs
from rlvr.statistics.scores import read_all


@dataclass(frozen=True)
class Input:
    """An input: its files for an item, and the function that reads them."""

    files: Callable[[Item, Paths], list[str]]
    read: Callable[[Sequence[Path]], Any]


def _read_runs(files: Sequence[Path]) -> Runs:
    return Runs.of((path.parent.name, path.stem, read_lines(path)) for path in files)


INPUTS = {
    # scores.csv of each policy on each evaluation; diversity.csv, the same
    "scores": Input(lambda item, paths: [paths.scores(*pair) for pair in item.scored()], read_all),
    "diversity": Input(lambda item, paths: [paths.diversity(*pair) for pair in item.scored()], read_all),
    # probe.jsonl and metrics.jsonl of each run
    "runs": Input(lambda item, paths: [file for run in item.policies() for file in paths.rows(run)], _read_runs),
}
REFERENCE = "reference"  # a further input: the path of the published table, or None

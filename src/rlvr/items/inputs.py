"""Inputs of a kind's `statistics`, by parameter name: their files and how to read them."""

from __future__ import annotations

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


def _scores(item: Item, paths: Paths) -> list[str]:
    return [paths.scores(*pair) for pair in item.scored()]


def _diversity(item: Item, paths: Paths) -> list[str]:
    return [paths.diversity(*pair) for pair in item.scored()]


def _runs(item: Item, paths: Paths) -> list[str]:
    return [file for run in item.policies() for file in paths.rows(run)]


def _probes(item: Item, paths: Paths) -> list[str]:
    return [paths.probe(run) for run in item.probed()]


def _read_runs(files: Sequence[Path]) -> Runs:
    return Runs.of((path.parent.name, path.stem, read_lines(path)) for path in files)


def _read_probes(files: Sequence[Path]) -> dict[str, list[dict[str, Any]]]:
    return {path.parent.name: list(read_lines(path)) for path in files}


INPUTS = {
    "scores": Input(_scores, read_all),  # scores.csv of each policy on each evaluation
    "diversity": Input(_diversity, read_all),  # diversity.csv, the same
    "runs": Input(_runs, _read_runs),  # probe.jsonl and metrics.jsonl of each run
    "probes": Input(_probes, _read_probes),  # probe.jsonl of the runs that choose learning rates
}
REFERENCE = "reference"  # a further input: the path of the published table, or None

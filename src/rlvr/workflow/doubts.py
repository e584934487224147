"""Runs whose first rollouts are all wrong or all correct: one line for each of the two, when Snakemake ends."""

from collections.abc import Iterable
from pathlib import Path

from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import read_lines
from rlvr.training.hints import drawn, equal_rewards


def lines(plan: Plan, paths: Paths, runs: Iterable[str]) -> list[str]:
    """Those of some runs that drew at least `execution.first_rollouts` rollouts."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        metrics = Path(paths.manifest(plan, run)).with_name("metrics.jsonl")
        rows, first = list(read_lines(metrics)) if metrics.is_file() else [], plan.executions[run].first_rollouts
        if drawn(rows) >= first and (hint := equal_rewards(rows, first)):
            found.setdefault(hint.split(" ", 1)[0], []).append((run, hint))  # none or all
    said = []
    for (run, hint), *others in found.values():
        alike = f"; the same in {len(others)} other run{'s' * (len(others) != 1)}" if others else ""
        said.append(f"{run}: {hint}{alike}; to see rollouts: rlvr show {run} --results {paths.results}")
    return said

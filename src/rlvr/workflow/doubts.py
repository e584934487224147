"""What the rows of finished runs say is wrong with them: one line per kind of doubt, when Snakemake ends."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import read_lines
from rlvr.training.alarms import alarms
from rlvr.training.hints import drawn, equal_rewards

FILES = ("metrics.jsonl", "probe.jsonl")  # of a run


def lines(plan: Plan, paths: Paths, runs: Iterable[str]) -> list[str]:
    """Those of some runs: first rollouts that are all wrong or all correct, and alarms that lasted to the end."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for kind, sentence in _of_run(Path(paths.manifest(plan, run)).parent, plan.executions[run].first_rollouts):
            found.setdefault(kind, []).append((run, sentence))
    said = []
    for (run, hint), *others in found.values():
        alike = f"; the same in {len(others)} other run{'s' * (len(others) != 1)}" if others else ""
        said.append(f"{run}: {hint}{alike}; to see rollouts: rlvr show {run} --results {paths.results}")
    return said


def _of_run(folder: Path, first: int) -> Iterator[tuple[str, str]]:
    """The doubts about a run, each with its kind; equal rewards of its first rollouts explain later alarms."""
    metrics, probes = ([*read_lines(file)] if (file := folder / name).is_file() else [] for name in FILES)
    if drawn(metrics) >= first and (hint := equal_rewards(metrics, first)):
        yield hint.split(" ", 1)[0], hint  # none or all
    else:
        yield from alarms(metrics, probes).items()

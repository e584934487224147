"""Inputs of a kind's `statistics`, by parameter name: their files and how to read them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config.paths import Paths
from rlvr.config.plan import Item, Plan
from rlvr.files import read_json, read_lines
from rlvr.statistics.run_rows import RunRows
from rlvr.statistics.scores import read_all

Folders = dict[str, Path]  # by the id of a set
Samples = dict[tuple[str, str], tuple[list[dict[str, Any]], ...]]
# (policy, evaluation) -> problem -> how often each different correct solution was drawn
Solutions = dict[tuple[str, str], dict[str, Counter[str]]]


@dataclass(frozen=True)
class Input:
    """An input: its files for an item, and the function that reads them."""

    files: Callable[[Item, Paths, Plan, str], list[str]]  # of the item of a paper
    read: Callable[[Sequence[Path]], Any]


def _read_runs(files: Sequence[Path]) -> RunRows:
    return RunRows.of((path.parent.name, path.stem, read_lines(path)) for path in files)


def _samples_of(item: Item, paths: Paths, plan: Plan, paper: str) -> list[str]:
    """Completions, grades and problems of the first policy of each cell on each benchmark."""
    return [
        file
        for cell in item.cells
        for evaluation in item.evaluations.get(cell.model, ())
        for policy, _ in cell.policies[:1]
        for file in (*paths.samples(policy, evaluation), paths.problems(plan.evaluations[evaluation].data))
    ]


def _read_samples(files: Sequence[Path]) -> Samples:
    """(policy, evaluation) -> its completions, grades and problems, as rows."""
    parts = zip(files[::3], files[1::3], files[2::3], strict=True)
    return {(part[0].parts[-3], part[0].parts[-2]): tuple(list(read_lines(path)) for path in part) for part in parts}


def _problems(item: Item, paths: Paths, plan: Plan, paper: str) -> list[str]:
    names = dict.fromkeys(name for evaluations in item.evaluations.values() for name in evaluations)
    return list(dict.fromkeys(paths.problems(plan.evaluations[name].data) for name in names))


def _read_solutions(files: Sequence[Path]) -> Solutions:
    from rlvr.scoring.diversity import solution  # which needs pandas, and a plan does not

    found = {}
    for completions, grades in zip(files[::2], files[1::2], strict=True):
        of_problem = found[completions.parts[-3], completions.parts[-2]] = defaultdict(Counter)
        for completion, grade in zip(read_lines(completions), read_lines(grades), strict=True):
            if grade["status"] == "correct":
                of_problem[grade["problem"]][solution(completion["text"])] += 1
    return found


def _criteria(item: Item, paths: Paths, plan: Plan, paper: str) -> list[str]:
    return [paths.mechanisms(paper)] if plan.papers[paper].paper.mechanism else []


def _read_criteria(files: Sequence[Path]) -> Any:
    import pandas as pd  # which a plan does not need

    return pd.concat([pd.DataFrame(), *map(pd.read_csv, files)])


INPUTS = {
    # scores.csv of each policy on each evaluation; diversity.csv, the same
    "scores": Input(lambda item, paths, plan, paper: [paths.scores(*pair) for pair in item.scored()], read_all),
    # completions and grades of each cell's first policy, with the problems
    "samples": Input(_samples_of, _read_samples),
    # the judged criteria of the paper, of all its arms at this scale; a frame without rows where it has none
    "mechanisms": Input(_criteria, _read_criteria),
    # the folder of each benchmark's set, which has its pictures
    "folders": Input(_problems, lambda files: {path.parent.name: path.parent for path in files}),
    "diversity": Input(lambda item, paths, plan, paper: [paths.diversity(*pair) for pair in item.scored()], read_all),
    # probe.jsonl and metrics.jsonl of each run
    "runs": Input(
        lambda item, paths, plan, paper: [file for run in item.policies() for file in paths.rows(run)], _read_runs
    ),
    # the same without base policies, which have none; and the correct solutions of each policy on each evaluation
    "training": Input(
        lambda item, paths, plan, paper: [
            file for run in item.policies() if run in plan.runs for file in paths.rows(run)
        ],
        _read_runs,
    ),
    "solutions": Input(
        lambda item, paths, plan, paper: [file for pair in item.scored() for file in paths.samples(*pair)],
        _read_solutions,
    ),
}
SUMMARY = "_summary"


def source(name: str) -> Input:
    """An input: of INPUTS, or the rows of a measure of runs by its name, or its summaries (`weights_summary`)."""
    if name in INPUTS:
        return INPUTS[name]
    measure = name.removesuffix(SUMMARY)
    if name == measure:
        return Input(
            lambda item, paths, plan, paper: [paths.measured(measure, run) for run in item.policies()],
            lambda files: RunRows.of((path.parent.name, measure, read_lines(path)) for path in files),
        )
    return Input(
        lambda item, paths, plan, paper: [paths.summary(measure, run) for run in item.policies()],
        lambda files: {path.parent.name: read_json(path) for path in files},
    )

"""Groups of rollouts: of a run's training steps, or an evaluation's samples by problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, starmap
from pathlib import Path
from typing import Any

from rlvr.config.registries import TASKS, TaskKind
from rlvr.data import tasks
from rlvr.estimators import Estimator
from rlvr.files import read_json
from rlvr.records import Completion, Grade, KeptGroup, Problem, RecordFile, read_records
from rlvr.scoring.score import pairs
from rlvr.show.lookup import NotFound, RunOrEvaluation
from rlvr.show.weights import put_to
from rlvr.suggest import nearest
from rlvr.training.rollout_log import NAME


@dataclass(frozen=True)
class Shown:
    """A group, the weights of its rollouts by method, and which of them to show."""

    group: KeptGroup
    task: TaskKind | None
    visible: list[int]
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def right(self) -> int:
        """The number of correct rollouts, shown or not."""
        return self.group.statuses.count("correct")

    def false_word(self, rollout: int) -> int | None:
        """The place, in words, of the first false or missing step of a rollout's working, if a task can check it."""
        return tasks.first_false(self.task, self.group.prompt, self.group.responses[rollout]) if self.task else None


def selected(groups: Iterable[KeptGroup], task: TaskKind | None, right: bool | None) -> Iterator[Shown]:
    """The groups with a rollout to show: all of them, or those that are right (True), or that are not (False)."""
    for group in groups:
        visible = [i for i, s in enumerate(group.statuses) if right in (None, s == "correct")]
        if visible:
            yield Shown(group, task, visible)


def weighed(groups: Iterable[Shown], own: str, methods: dict[str, Estimator]) -> Iterator[Shown]:
    """The groups with a run's own weights, and those of methods, by name. Raises as `put_to`."""
    groups = list(groups) if methods else groups
    others: dict[str, list[tuple[float, ...]]] = {}
    for name, estimator in methods.items():
        try:
            others[name] = put_to(estimator, [shown.group for shown in groups])
        except (NotFound, ValueError) as error:
            raise type(error)(f"{name}: {error}") from error

    def with_weights(i: int, shown: Shown) -> Shown:
        trained_by = {f"{own} (trained)": shown.group.weights} if shown.group.weights else {}
        return replace(shown, weights={**trained_by, **{name: rows[i] for name, rows in others.items()}})

    return starmap(with_weights, enumerate(groups))


def groups_of(named: RunOrEvaluation, results: Path, prompt: str | None) -> tuple[Iterable[KeptGroup], TaskKind | None]:
    """The groups of a run, newest step first, or of an evaluation, and the generated task that they are of."""
    if named.kind == "run":
        groups = kept(named)
        return select(groups, prompt), task_of(named.manifest().get("spec", {}).get("data", {}))
    problems, card = benchmark(named, results)
    if prompt is not None and prompt not in problems:
        raise NotFound(f"{prompt!r}: {named.name} has no such problem{nearest(prompt, problems)}")
    return samples(named, problems, prompt), task_of(card.get("spec", {}))


def kept(named: RunOrEvaluation) -> list[KeptGroup]:
    """The rollouts that a run kept, newest step first; those of its checkpoints before it is published."""
    path = next((path for path in (named.folder / NAME, named.folder / "state" / NAME) if path.is_file()), None)
    if path is None:
        why = "it was made by an earlier version, or with execution.kept_prompts: 0, or has saved no checkpoint yet"
        raise NotFound(f"{named.name} has no {NAME}: {why}")
    return sorted(read_records(path, KeptGroup), key=lambda group: -group.step)


def select(groups: list[KeptGroup], prompt: str | None) -> list[KeptGroup]:
    problems = {group.problem for group in groups}
    if prompt is not None and prompt not in problems:
        raise NotFound(f"{prompt!r}: no kept rollout is of this problem{nearest(prompt, problems)}")
    return [group for group in groups if prompt in (None, group.problem)]


def of_step(groups: Iterable[KeptGroup], step: int) -> list[KeptGroup]:
    """The groups of a step. Raises NotFound, which names the nearest kept step."""
    groups = list(groups)
    if step not in (steps := sorted({group.step for group in groups})):
        close = f"the nearest is {min(steps, key=lambda other: abs(other - step))}" if steps else "none are kept"
        raise NotFound(f"step {step}: no rollouts of this step are kept; {close}")
    return [group for group in groups if group.step == step]


def task_of(data: dict[str, Any]) -> TaskKind | None:
    """The generated task of a data set's specification; None for a published set."""
    return TASKS.load(data["task"]) if data.get("task") in TASKS.names() else None


def benchmark(named: RunOrEvaluation, results: Path) -> tuple[dict[str, Problem], dict[str, Any]]:
    """The problems of an evaluation by id, and the card of their set."""
    cards = {path.parent: read_json(path) for path in sorted(results.glob("data/*/card.json"))}
    evaluation = named.folder.name
    first = next(iter(RecordFile(_completions(named), Completion)))
    for folder, card in cards.items():
        if evaluation.startswith(f"{card['name']}-n"):
            problems = {problem.id: problem for problem in read_records(folder / "problems.jsonl", Problem)}
            if first.problem in problems:
                return problems, card
    raise NotFound(f"{named.name}: no set in {results}/data has its problems; Snakemake makes it again")


def samples(named: RunOrEvaluation, problems: dict[str, Problem], prompt: str | None) -> Iterator[KeptGroup]:
    """An evaluation's completions and grades by problem, read while they are used; rewards are 1 and 0."""
    grades = RecordFile(named.file("grades.jsonl.gz", "it is not graded yet"), Grade)
    rows = pairs(RecordFile(_completions(named), Completion), grades)
    for problem, group in groupby(rows, key=lambda pair: pair[0].problem):
        if prompt in (None, problem):
            yield _group(problems[problem], list(group))


def _group(problem: Problem, rows: list[tuple[Completion, Grade]]) -> KeptGroup:
    completions, grades = [row for row, _ in rows], [grade for _, grade in rows]
    surprisals = [-row.logprob / max(1, row.tokens) for row in completions]
    return KeptGroup(
        step=0,
        problem=problem.id,
        prompt=problem.prompt,
        gold=problem.gold,
        responses=tuple(row.text for row in completions),
        statuses=tuple(grade.status for grade in grades),
        extracted=tuple(grade.extracted for grade in grades),
        rewards=tuple(float(grade.status == "correct") for grade in grades),
        weights=(),
        lengths=tuple(row.tokens for row in completions),
        logp=tuple(row.logprob for row in completions),
        log_ratio=None,
        entropy=sum(surprisals) / len(surprisals),
        state={},
    )


def _completions(named: RunOrEvaluation) -> Path:
    return named.file("completions.jsonl.gz", "it is not sampled yet")

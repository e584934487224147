"""Stage: score. Counts per problem: samples by status, and the majority's verdict.

For a problem of a generated task also what a blind guess would score, and how many correct samples rest on false steps.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.config.registries import TASKS
from rlvr.files import RecordError, publish_csv
from rlvr.records import Completion, Grade, Problem, RecordFile, read_records
from rlvr.scoring.votes import AnswerClass, majority, votes
from rlvr.verifiers import STATUSES, kind, without_box


def pairs(completions: Iterable[Completion], grades: Iterable[Grade]) -> Iterator[tuple[Completion, Grade]]:
    """Each completion with its grade. Raises RecordError if they do not match one to one."""
    for completion, grade in zip_longest(completions, grades):
        if not (completion and grade) or (completion.problem, completion.sample) != (grade.problem, grade.sample):
            raise RecordError("completions and grades are not of the same samples; grade again")
        yield completion, grade


def clusters_of(problems: list[Problem]) -> list[dict[str, str]]:
    """The column `cluster` of each problem's row if some problem has one; a problem without is its own cluster."""
    some = any(problem.cluster for problem in problems)
    return [{"cluster": problem.cluster or problem.id} if some else {} for problem in problems]


def score(
    problems: list[Problem],
    completions: Iterable[Completion],
    grades: Iterable[Grade],
    task: str | None = None,
    verifier: str | None = None,
) -> list[dict[str, Any]]:
    """One row per problem. Raises RecordError if completions and grades do not match one to one.

    `majority` is the problem's maj@n, in 0..1; `clusters_of` adds `cluster`. A `task` of rlvr.data.tasks adds `chance`,
    the probability that a blind guess is correct, and `false_working`, the correct samples with a false
    step. A `verifier` that reads answers without a box adds `without_box`, the correct samples that have none: they
    would be wrong with `box: required`; and `judged_by`, its name and version. A set with `lookup` adds the number of
    lookups until one is correct, 0 for never.
    """
    module, prompts = TASKS.load(task) if task else None, {problem.id: problem.prompt for problem in problems}
    unboxed_counts = verifier is not None and kind(verifier).boxed_version is not None
    judged_by = f"{verifier} {kind(verifier).version}" if verifier else ""
    false: Counter[str] = Counter()
    unboxed: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {problem.id: Counter() for problem in problems}
    classes: dict[str, Counter[AnswerClass]] = {problem.id: Counter() for problem in problems}
    tokens: Counter[str] = Counter()
    for completion, grade in pairs(completions, grades):
        counts[grade.problem][grade.status] += 1
        classes[grade.problem].update(votes([(grade.status, grade.extracted)]))
        tokens[grade.problem] += completion.tokens
        if module and grade.status == "correct":
            false[grade.problem] += module.false_working(prompts[grade.problem], completion.text)
        if unboxed_counts and grade.status == "correct":
            unboxed[grade.problem] += without_box(completion.text)
    rows = []
    for problem, cluster in zip(problems, clusters_of(problems), strict=True):
        n = sum(counts[problem.id].values())
        if n == 0:
            raise RecordError(f"problem {problem.id!r} has no completion")
        row = {"problem": problem.id, "level": problem.level, "n": n, **{s: counts[problem.id][s] for s in STATUSES}}
        voted = {"mean_tokens": tokens[problem.id] / n, "majority": majority(classes[problem.id])}
        of_task = {"chance": module.chance(problem.prompt), "false_working": false[problem.id]} if module else {}
        looked_up = {"lookup": problem.lookup} if problem.lookup >= 0 else {}
        boxes = {"without_box": unboxed[problem.id], "judged_by": judged_by} if unboxed_counts else {}
        rows.append({**row, **voted, **of_task, **boxes, **looked_up, **cluster})
    return rows


def main(
    policy: Annotated[str, typer.Option(help="Id of the policy, a column of the result.")],
    evaluation: Annotated[str, typer.Option(help="Id of the evaluation, a column of the result.")],
    completions: Annotated[Path, typer.Option(help="completions.jsonl.gz")],
    grades: Annotated[Path, typer.Option(help="grades.jsonl.gz")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="scores.csv to write.")],
    task: Annotated[str | None, typer.Option(help="The generated task of the problems.")] = None,
    verifier: Annotated[str | None, typer.Option(help="Their verifier, if it reads answers without a box.")] = None,
) -> None:
    """Count one benchmark's verdicts."""
    files = RecordFile(completions, Completion), RecordFile(grades, Grade)
    rows = score(read_records(problems, Problem), *files, task, verifier)
    publish_csv(out, [{"policy": policy, "evaluation": evaluation, **row} for row in rows])


if __name__ == "__main__":
    typer.run(main)

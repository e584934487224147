"""Stage: score. Counts per problem: samples by status, and the majority's verdict."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.files import RecordError, publish
from rlvr.records import Completion, Grade, Problem, read_records
from rlvr.scoring.votes import majority, votes
from rlvr.verifiers import STATUSES


def check_pairs(completions: list[Completion], grades: list[Grade]) -> None:
    """Raise RecordError if completions and grades do not match one to one."""
    if [(c.problem, c.sample) for c in completions] != [(g.problem, g.sample) for g in grades]:
        raise RecordError("completions and grades are not of the same samples; grade again")


def with_clusters(frame: pd.DataFrame, problems: list[Problem]) -> pd.DataFrame:
    """The frame with a column `cluster` if some problem has one; a problem without is its own cluster."""
    if any(problem.cluster for problem in problems):
        frame["cluster"] = [problem.cluster or problem.id for problem in problems]
    return frame


def score(problems: list[Problem], completions: list[Completion], grades: list[Grade]) -> pd.DataFrame:
    """One row per problem. Raises RecordError if completions and grades do not match one to one.

    `majority` is the problem's maj@n, in 0..1; `with_clusters` adds `cluster`.
    """
    check_pairs(completions, grades)
    counts: dict[str, Counter[str]] = {problem.id: Counter() for problem in problems}
    answers: dict[str, list[tuple[str, str | None]]] = {problem.id: [] for problem in problems}
    tokens: Counter[str] = Counter()
    for completion, grade in zip(completions, grades, strict=True):
        counts[grade.problem][grade.status] += 1
        answers[grade.problem].append((grade.status, grade.extracted))
        tokens[grade.problem] += completion.tokens
    rows = []
    for problem in problems:
        n = sum(counts[problem.id].values())
        if n == 0:
            raise RecordError(f"problem {problem.id!r} has no completion")
        row = {"problem": problem.id, "level": problem.level, "n": n, **{s: counts[problem.id][s] for s in STATUSES}}
        rows.append({**row, "mean_tokens": tokens[problem.id] / n, "majority": majority(votes(answers[problem.id]))})
    return with_clusters(pd.DataFrame(rows), problems)


def main(
    policy: Annotated[str, typer.Option(help="Id of the policy, a column of the result.")],
    evaluation: Annotated[str, typer.Option(help="Id of the evaluation, a column of the result.")],
    completions: Annotated[Path, typer.Option(help="completions.jsonl.gz")],
    grades: Annotated[Path, typer.Option(help="grades.jsonl.gz")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="scores.csv to write.")],
) -> None:
    """Count one benchmark's verdicts."""
    frame = score(read_records(problems, Problem), read_records(completions, Completion), read_records(grades, Grade))
    frame.insert(0, "policy", policy)
    frame.insert(1, "evaluation", evaluation)
    publish(out, frame.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

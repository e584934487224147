"""Stage: grade. A verifier's verdict on each completion; samples nothing, loads no model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlvr import verifiers
from rlvr.records import Completion, Grade, Problem, publish_records, read_records


def grade(completions: list[Completion], problems: list[Problem], verifier: str) -> list[Grade]:
    """Verdicts in the order of the completions."""
    judge, golds = verifiers.load(verifier), {problem.id: problem.gold for problem in problems}
    grades = []
    for completion in completions:
        if completion.problem not in golds:
            sys.exit(f"a completion is of problem {completion.problem!r}, which the benchmark does not have")
        status, extracted = verifiers.judge_completion(
            judge, completion.text, golds[completion.problem], completion.finished
        )
        grades.append(Grade(completion.problem, completion.sample, status, extracted))
    return grades


def main(
    verifier: Annotated[str, typer.Option(help="Name of the verifier.")],
    completions: Annotated[Path, typer.Option(help="completions.jsonl.gz")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="grades.jsonl.gz to write.")],
) -> None:
    """Grade completions."""
    grades = grade(read_records(completions, Completion), read_records(problems, Problem), verifier)
    publish_records(out, grades)


if __name__ == "__main__":
    typer.run(main)

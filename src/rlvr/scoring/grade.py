"""Stage: grade. A verifier's verdict on each completion; it samples nothing and loads no model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlvr import verifiers
from rlvr.offspring import end_with_caller
from rlvr.records import Completion, Grade, Problem, publish_records, read_records
from rlvr.training.progress import Bar
from rlvr.verifiers.pool import Pool, TooManyErrors


def grade(
    completions: list[Completion],
    problems: list[Problem],
    verifier: str,
    workers: int = 1,
    verifier_errors: float = 1.0,
) -> list[Grade]:
    """Verdicts in the order of the completions; running out of time or memory is a status of its own.

    Raises TooManyErrors if more than the share `verifier_errors` end in an exception of the verifier, and, before any
    judgement, VerifierError for a gold that it cannot read.
    """
    golds = {problem.id: problem.gold for problem in problems}
    verifiers.check_golds(verifier, ((f"problem {name}", gold) for name, gold in golds.items()))
    for completion in completions:
        if completion.problem not in golds:
            sys.exit(f"a completion has problem {completion.problem!r}, which the benchmark lacks; sample again")
    grades = []
    with (
        Pool(verifier, workers=workers, verifier_errors=verifier_errors) as pool,
        Bar("grade", len(completions)) as bar,
    ):
        verdicts = pool.judge((completion.text, golds[completion.problem]) for completion in completions)
        for completion, verdict in zip(completions, verdicts, strict=True):
            pool.errors.check(of=len(completions))
            status, extracted = verifiers.settle((verdict.status, verdict.extracted), completion.finished)
            grades.append(Grade(completion.problem, completion.sample, status, extracted))
            if bar.progress or len(grades) == len(completions):
                bar.advance(len(grades) - bar.done)
    return grades


def main(
    verifier: Annotated[str, typer.Option(help="Name of the verifier.")],
    completions: Annotated[Path, typer.Option(help="completions.jsonl.gz")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="grades.jsonl.gz to write.")],
    workers: Annotated[int, typer.Option(help="Processes for judgements that take time.", min=1)] = 1,
    verifier_errors: Annotated[
        float, typer.Option(help="Share of judgements that may end in an exception of the verifier.", min=0, max=1)
    ] = 0.01,
) -> None:
    """Grade completions."""
    end_with_caller()
    records, benchmark = read_records(completions, Completion), read_records(problems, Problem)
    try:
        grades = grade(records, benchmark, verifier, workers, verifier_errors)
    except TooManyErrors as error:
        sys.exit(f"{error} (in {completions})")
    except verifiers.VerifierError as error:
        sys.exit(f"{error} (in {problems})")
    publish_records(out, grades)


if __name__ == "__main__":
    typer.run(main)

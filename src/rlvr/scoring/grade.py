"""Stage: grade. A verifier's verdict on each completion; it samples nothing and loads no model."""

import sys
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from rlvr import verifiers
from rlvr.child_processes import end_with_caller
from rlvr.records import Completion, Grade, Problem, RecordFile, publish_records, read_records
from rlvr.training.progress import Bar
from rlvr.verifiers.pool import Pool, TooManyErrors


def grade(
    completions: Iterable[Completion],
    problems: list[Problem],
    verifier: str,
    workers: int = 1,
    verifier_errors: float = 1.0,
) -> Iterator[Grade]:
    """Verdicts in the order of the completions; running out of time or memory is a status of its own.

    It loops twice over the completions, and holds those that are being judged.

    Raises TooManyErrors if more than the share `verifier_errors` end in an exception of the verifier, and, before any
    judgement, VerifierError for a gold that it cannot read.
    """
    golds = {problem.id: problem.gold for problem in problems}
    verifiers.check_golds(verifier, ((f"problem {name}", gold) for name, gold in golds.items()))
    count = 0
    for count, completion in enumerate(completions, 1):  # noqa: B007 - their number
        if completion.problem not in golds:
            sys.exit(f"a completion has problem {completion.problem!r}, which the benchmark lacks; sample again")
    with Pool(verifier, workers=workers, verifier_errors=verifier_errors) as pool, Bar("grade", count) as bar:
        judged, asked = tee(completions)
        verdicts = pool.judge((completion.text, golds[completion.problem]) for completion in asked)
        for number, (completion, verdict) in enumerate(zip(judged, verdicts, strict=True), 1):
            pool.errors.check(of=count)
            status, extracted = verifiers.settle((verdict.status, verdict.extracted), completion.finished)
            yield Grade(completion.problem, completion.sample, status, extracted)
            if bar.progress or number == count:
                bar.advance(number - bar.done)


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
    records, benchmark = RecordFile(completions, Completion), read_records(problems, Problem)
    try:
        publish_records(out, grade(records, benchmark, verifier, workers, verifier_errors))
    except TooManyErrors as error:
        sys.exit(f"{error} (in {completions})")
    except verifiers.VerifierError as error:
        sys.exit(f"{error} (in {problems})")


if __name__ == "__main__":
    typer.run(main)

"""`rlvr grade`: verdicts on answers of one's own, in workers that a hostile answer cannot take down."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import verifiers
from rlvr.commands.lines import LineError, fail, parse, present, read
from rlvr.estimators import nearest

FIELDS = ("id", "completion", "gold", "finished")


def grade(
    verifier: Annotated[str, typer.Option(help="One of " + ", ".join(verifiers.names()) + ".")],
    workers: Annotated[int, typer.Option(help="Processes.", min=1, max=256)] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds a judgement; of `code`, of all its tests.", min=0.1)
    ] = None,
    memory_mb: Annotated[int, typer.Option("--memory-mb", help="Address space of a worker.", min=512)] = 2048,
    file: Annotated[Path | None, typer.Option("--input", help="Read this file, not standard input.")] = None,
) -> None:
    """Print each line with `correct`, `status`, `extracted` and `seconds` added, in order.

    In: {"id": ..., "completion": "... \\\\boxed{5}", "gold": "5"}, and "finished": false for a completion that was cut
    off. A line that is not like this has the status `invalid` with an `error`, and never stops the rest. Where the
    verifier itself raises an exception, the status is `error`, with the `reason`.
    docs/grading.md says what each verifier accepts.
    """
    from rlvr.verifiers.pool import Pool

    if verifier not in verifiers.names():
        fail("grade", f"--verifier: unknown verifier {verifier!r}{nearest(verifier, verifiers.names())}")
    check_gold = verifiers.hook(verifier, "check_gold", verifiers.nothing)
    lines = [_checked(line, check_gold) for _, line in read("grade", file)]
    questions = [(line["completion"], line["gold"]) for line in lines if "error" not in line]
    invalid = 0
    try:
        pool = Pool(verifier, workers=workers, seconds=timeout, memory_mb=memory_mb)
    except verifiers.VerifierError as error:
        fail("grade", str(error))
    with pool:
        verdicts = pool.judge(questions)
        for line in lines:
            if "error" in line:
                invalid += 1
                made: dict[str, Any] = {**line, "correct": False, "status": "invalid"}
                made |= {"extracted": None, "seconds": 0.0}
            else:
                found = next(verdicts)
                status, extracted = verifiers.settle((found.status, found.extracted), line.get("finished", True))
                made = {**line, "correct": status == "correct", "status": status}
                made |= {"extracted": extracted, "seconds": found.seconds}
                made |= {} if found.reason is None else {"reason": found.reason}
            typer.echo(json.dumps(made, ensure_ascii=True))
    if pool.errors.count:
        failed = f"{pool.errors.count} of {pool.errors.judged} judgements ended in an exception of the verifier"
        print(f"rlvr grade: {failed}; see their `reason`", file=sys.stderr)
    if invalid:
        print(f"rlvr grade: {invalid} of {len(lines)} lines are not valid; see their `error`", file=sys.stderr)


def _checked(line: str, check_gold: Callable[[str], None]) -> dict[str, Any]:
    """A line's content, or `error`."""
    content: dict[str, Any] = {}
    try:
        content = parse(line)
        for field in ("id", "completion", "gold"):
            value = present(content, field, FIELDS)
            if field != "id" and not isinstance(value, str):
                raise LineError(field, f"must be a text (got {str(value)[:40]})")
        if not isinstance(content.get("finished", True), bool):
            raise LineError("finished", "must be true or false")
        check_gold(content["gold"])
    except (ValueError, verifiers.VerifierError) as error:
        return {**{key: value for key, value in content.items() if key == "id"}, "error": str(error)}
    return content

"""`rlvr grade`: verdicts on given answers, in workers that survive hostile answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr import verifiers
from rlvr.commands.lines import Input, LineError, fail, parse, present, read, say
from rlvr.data.golds import answer_of, check
from rlvr.suggest import nearest, shown

if TYPE_CHECKING:
    from rlvr.verifiers.pool import Pool, Verdict

FIELDS = ("id", "completion", "gold", "finished")
ADDED = ("error", "reason")  # from an earlier call, if its output is graded again


def grade(
    verifier: Annotated[str, typer.Option(help="One of " + ", ".join(verifiers.names()) + ".")],
    workers: Annotated[int, typer.Option(help="Processes.", min=1, max=256)] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds per judgement; for `code`, of all its tests.", min=0.1, max=86_400)
    ] = None,
    memory_mb: Annotated[
        int, typer.Option("--memory-mb", help="Address space of a worker.", min=512, max=1 << 20)
    ] = 2048,
    file: Input = None,
) -> None:
    """Print each line with `correct`, `status`, `extracted` and `seconds` added, in order.

    In: {"id": ..., "completion": "... \\\\boxed{5}", "gold": "5"}, and "finished": false for a completion that was cut
    off. Any other line, or one whose gold the verifier cannot read, has the status `invalid` with an `error`, and
    never stops the rest; if no line is valid the exit code is 2. If the verifier raises an exception, the status is
    `error`, with the `reason`. A gold may be a worked solution that ends in `#### 72` or a box. docs/grading.md says
    what each verifier accepts.

    Example: rlvr grade --verifier math --input answers.jsonl
    """
    from rlvr.verifiers.pool import Pool

    if verifier not in verifiers.names():
        fail(f"--verifier: unknown verifier {verifier!r}{nearest(verifier, verifiers.names())}")
    try:
        pool = Pool(verifier, workers=workers, seconds=timeout, memory_mb=memory_mb)
    except verifiers.VerifierError as error:
        fail(str(error))
    lines = [(number, _checked(number, line, verifier)) for number, line in read(file)]
    if not lines:
        fail('no answers: expected lines like {"id": 1, "completion": "... \\\\boxed{5}", "gold": "5"}')
    invalid = [line["error"] for _, line in lines if "error" in line]
    valid = [line for _, line in lines if "error" not in line]
    with pool:
        verdicts = _in_order(pool, [(line["completion"], answer_of(line["gold"], verifier)) for line in valid])
        for number, line in lines:
            try:
                fields = INVALID if "error" in line else _added(line, next(verdicts))
            except verifiers.VerifierError as error:
                fail(f"line {number}: {error}")
            typer.echo(json.dumps(line | fields))
    if pool.errors.count:
        share = f"{pool.errors.count} of {pool.errors.judged} judgements ended in an exception of the verifier"
        say(f"{share}; see their `reason`")
    if invalid:
        say(f"{len(invalid)} of {len(lines)} lines are not valid, see their `error`; the first: {invalid[0]}")
    if len(invalid) == len(lines):
        raise typer.Exit(2)
    places = {answer_of(line["gold"], verifier): str(number) for number, line in reversed(lines) if "error" not in line}
    doubtful = check([(place, gold) for gold, place in reversed(places.items())], verifier)
    if doubtful.failed:
        say(str(doubtful))


INVALID = {"correct": False, "status": "invalid", "extracted": None, "seconds": 0.0}


def _added(line: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    status, extracted = verifiers.settle((verdict.status, verdict.extracted), line.get("finished", True))
    fields = {"correct": status == "correct", "status": status, "extracted": extracted, "seconds": verdict.seconds}
    return fields | ({} if verdict.reason is None else {"reason": verdict.reason})


def _in_order(pool: Pool, questions: list[tuple[str, str]]) -> Iterator[Verdict]:
    """Verdicts in order. If one question raises an error, the verdicts before it still come first."""
    done = 0
    try:
        for verdict in pool.judge(questions):
            done += 1
            yield verdict
    except Exception:  # perhaps from a later question in another worker
        for question in questions[done:]:
            yield from pool.judge([question])


def _checked(number: int, line: str, verifier: str) -> dict[str, Any]:
    """A line's content, which JSON can print again, or its id and `error`."""
    content: dict[str, Any] = {}
    try:
        content = parse(line)
        for key, value in content.items():
            if not _is_json(value):
                raise LineError(key[:40], "holds NaN or an infinite number, or is nested too deep")
        for field in ("id", "completion", "gold"):
            value = present(content, field, FIELDS)
            if field != "id" and not isinstance(value, str):
                raise LineError(field, f"must be a text (got {shown(value)})")
        if not isinstance(content.get("finished", True), bool):
            raise LineError("finished", "must be true or false")
        _check(content["gold"], verifier)
    except ValueError as error:
        id_field = {"id": content["id"]} if "id" in content and _is_json(content["id"]) else {}
        return {**id_field, "error": f"line {number}: {error}"}
    return {key: value for key, value in content.items() if key not in ADDED}


def _is_json(value: Any) -> bool:
    """Whether JSON can print the value: Python also reads NaN and 1e999, which JSON lacks."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def _check(gold: str, verifier: str) -> None:
    """Raises LineError for a gold that the verifier cannot read; the message quotes its beginning."""
    try:
        verifiers.kind(verifier).check_gold(answer_of(gold, verifier))
    except verifiers.VerifierError as error:
        beginning = repr(gold[:80])
        raise LineError("gold", str(error) if beginning in str(error) else f"{beginning}: {error}") from error

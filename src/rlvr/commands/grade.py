"""`rlvr grade`: verdicts on given answers, in workers that survive hostile answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr import verifiers
from rlvr.commands.lines import Input, LineError, fail, parse, present, read, say
from rlvr.data import golds
from rlvr.suggest import nearest, shown

if TYPE_CHECKING:
    from rlvr.verifiers.pool import Pool, Verdict

FIELDS = ("id", "completion", "gold", "finished")
ADDED = ("error", "reason")  # from an earlier call, if its output is graded again
INVALID = {"correct": False, "status": "invalid", "extracted": None, "seconds": 0.0}


@dataclass(frozen=True)
class Line:
    """A line: its number, its content, which JSON can print again, and its gold as each verifier takes it.

    Without golds, the content is the line's id and its `error`.
    """

    number: int
    content: dict[str, Any]
    golds: tuple[str, ...] = ()

    def settled(self, verdict: Verdict) -> verifiers.Judgement:
        return verifiers.settle((verdict.status, verdict.extracted), self.content.get("finished", True))


def grade(
    verifier: Annotated[str, typer.Option(help="One of " + ", ".join(verifiers.names()) + ".")],
    compare: Annotated[
        str | None,
        typer.Option(metavar="VERIFIER", help="Judge by this one too, and print where the two differ instead."),
    ] = None,
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
    `error`, with the `reason`. A gold may be a list of answers, or a worked solution that ends in `#### 72` or a box.
    docs/grading.md says what each verifier accepts.

    With --compare math_verify: how many answers both verifiers find right, only one of them, or none, and the answers
    on which they differ.

    Example: rlvr grade --verifier math --input answers.jsonl
    """
    names = (verifier,) if compare is None else (verifier, compare)
    _known(names)
    with ExitStack() as stack:
        pools = [stack.enter_context(_pool(name, workers, timeout, memory_mb)) for name in names]
        lines = [_line(number, line, names) for number, line in read(file)]
        if not lines:
            fail('no answers: expected lines like {"id": 1, "completion": "... \\\\boxed{5}", "gold": "5"}')
        if compare is None:
            _print_verdicts(pools[0], lines)
        else:
            _print_comparison(pools, lines)
        for pool in pools:
            if pool.errors.count:
                share = f"{pool.errors.count} of {pool.errors.judged} judgements ended in an exception of the verifier"
                say(f"{share} {pool.verifier}" if compare else f"{share}; see their `reason`")
    invalid = [line.content["error"] for line in lines if not line.golds]
    if invalid:
        where = "see their `error`; the first" if compare is None else "and not compared; the first"
        say(f"{len(invalid)} of {len(lines)} lines are not valid, {where}: {invalid[0]}")
    if len(invalid) == len(lines):
        raise typer.Exit(2)
    for i, name in enumerate(names):
        places = {line.golds[i]: str(line.number) for line in reversed(lines) if line.golds}
        doubtful = golds.check([(place, gold) for gold, place in reversed(places.items())], name)
        if doubtful.failed:
            say(f"{name}: {doubtful}" if compare else str(doubtful))


def _known(names: tuple[str, ...]) -> None:
    for option, name in zip(("--verifier", "--compare"), names, strict=False):
        if name not in verifiers.names():
            fail(f"{option}: unknown verifier {name!r}{nearest(name, verifiers.names())}")
    if len({*names}) < len(names):
        fail(f"--compare: {names[0]} is the verifier itself; give another one, such as math_verify")


def _pool(name: str, workers: int, timeout: float | None, memory_mb: int) -> Pool:
    from rlvr.verifiers.pool import Pool

    try:
        return Pool(name, workers=workers, seconds=timeout, memory_mb=memory_mb)
    except verifiers.VerifierError as error:
        fail(str(error))


# ---- what is printed ----


def _print_verdicts(pool: Pool, lines: list[Line]) -> None:
    verdicts = _verdicts(pool, lines, 0)
    for line in lines:
        typer.echo(json.dumps(line.content | (_added(line, next(verdicts)) if line.golds else INVALID)))


def _added(line: Line, verdict: Verdict) -> dict[str, Any]:
    status, extracted = line.settled(verdict)
    fields = {"correct": status == "correct", "status": status, "extracted": extracted, "seconds": verdict.seconds}
    return fields | ({} if verdict.reason is None else {"reason": verdict.reason})


def _print_comparison(pools: list[Pool], lines: list[Line]) -> None:
    from tabulate import tabulate

    from rlvr.scoring.comparison import Comparison, cut

    first, second = pools
    comparison = Comparison((first.verifier, second.verifier))
    valid = [line for line in lines if line.golds]
    for line, one, other in zip(valid, _verdicts(first, valid, 0), _verdicts(second, valid, 1), strict=True):
        place = (str(line.number), cut(str(line.content["id"])))
        comparison.add(place, line.golds[0], line.settled(one), line.settled(other))
    if not valid:
        return
    typer.echo("\n".join(comparison.summary()))
    if comparison.rows:
        header, *rows = comparison.table(("line", "id"))
        typer.echo(f"\n{tabulate(rows, headers=header, disable_numparse=True)}")


def _verdicts(pool: Pool, lines: list[Line], place: int) -> Iterator[Verdict]:
    """The verdicts of the valid lines in order, by the gold in this place.

    A question that cannot be judged ends the command, after the verdicts before it.
    """
    valid = [line for line in lines if line.golds]
    done = 0
    try:
        for verdict in pool.judge((line.content["completion"], line.golds[place]) for line in valid):
            done += 1
            yield verdict
    except Exception:  # perhaps from a later question in another worker
        for line in valid[done:]:
            try:
                yield from pool.judge([(line.content["completion"], line.golds[place])])
            except verifiers.VerifierError as error:
                fail(f"line {line.number}: {error}")


# ---- what is read ----


def _line(number: int, text: str, names: tuple[str, ...]) -> Line:
    """A line, with its gold for each verifier. Without golds if it is not valid; its content then has an `error`."""
    content: dict[str, Any] = {}
    try:
        content = parse(text)
        for key, value in content.items():
            if not _is_json(value):
                raise LineError(key[:40], "holds NaN or an infinite number, or is nested too deep")
        for field in ("id", "completion", "gold"):
            value = present(content, field, FIELDS)
            if field == "completion" and not isinstance(value, str):
                raise LineError(field, f"must be a text (got {shown(value)})")
        if not isinstance(content.get("finished", True), bool):
            raise LineError("finished", "must be true or false")
        kept = {key: value for key, value in content.items() if key not in ADDED}
        return Line(number, kept, tuple(_gold(content["gold"], name) for name in names))
    except ValueError as error:
        id_field = {"id": content["id"]} if "id" in content and _is_json(content["id"]) else {}
        return Line(number, {**id_field, "error": f"line {number}: {error}"})


def _is_json(value: Any) -> bool:
    """Whether JSON can print the value: Python also reads NaN and 1e999, which JSON lacks."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def _gold(field: Any, verifier: str) -> str:
    """The gold in a line. Raises LineError if there is none, or none that the verifier can read, and quotes it."""
    from rlvr.scoring.comparison import gold_for

    try:
        gold = gold_for(golds.read(field, verifier).text, verifier)
        verifiers.kind(verifier).check_gold(gold)
        return gold
    except TypeError as error:
        raise LineError("gold", str(error)) from error
    except golds.NoAnswer as error:
        raise LineError("gold", f"{shown(field)} is no answer ({error})") from error
    except verifiers.VerifierError as error:
        beginning = repr(golds.text_of(field)[:80])
        raise LineError("gold", str(error) if beginning in str(error) else f"{beginning}: {error}") from error

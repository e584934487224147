"""`rlvr passk`: pass@k of given counts, with two intervals, each named after the variation that it covers."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from rlvr.commands.lines import Input, LineError, count, fail, parse, present, problem_name, read, whole_numbers

if TYPE_CHECKING:
    from rlvr.statistics.intervals import Interval

FIELDS = ("problem", "n", "c")
MOST = 10**6  # the largest number of samples per problem


def passk(
    k: Annotated[str, typer.Option("--k", metavar="K,K,...", help="Values of k, separated by commas.")] = "1",
    confidence: Annotated[float, typer.Option(help="The confidence of both intervals, between 0 and 1.")] = 0.95,
    resamples: Annotated[
        int, typer.Option(help="Bootstrap draws of the interval over problems.", min=100, max=10**6)
    ] = 9999,
    seed: Annotated[int, typer.Option(help="The seed of those draws.", min=0)] = 0,
    file: Input = None,
) -> None:
    """Print unbiased pass@k and its intervals, one JSON line per k.

    In, one line per problem: {"problem": "aime-1", "n": 128, "c": 17}, c of n samples correct (n at most 1,000,000).
    Out: {"k": 8, "value": 0.61, "over_samples": [low, high], "over_problems": [low, high], ...}. The first interval
    is of these problems and other samples, the second of other problems of this kind (BCa bootstrap).

    Example: rlvr passk --k 1,8,32 --input counts.jsonl
    """
    import numpy as np

    from rlvr.statistics.intervals import over_problems, over_samples
    from rlvr.statistics.pass_at_k import pass_at_k

    ks = whole_numbers(k, "--k", most=MOST)
    if not 0 < confidence < 1:
        fail(f"--confidence: must be between 0 and 1 (got {confidence})")
    counts = _counts(read(file), max(ks))
    n, c = (np.array([row[i] for row in counts], dtype=np.int64) for i in (0, 1))
    for value in ks:
        # One generator per k: an interval does not depend on the other k.
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, value))))
        each = pass_at_k(n, c, value)
        problems = over_problems(each, resamples=resamples, confidence=confidence, generator=generator)
        ends = {"over_samples": _ends(over_samples(n, c, value, confidence)), "over_problems": _ends(problems)}
        sizes = {"problems": len(counts), "n": int(n.min()), "confidence": confidence}
        typer.echo(json.dumps({"k": value, "value": float(each.mean()), **ends, **sizes}, allow_nan=False))


def _ends(interval: Interval) -> list[float | None]:
    return [None if math.isnan(end) else end for end in (interval.low, interval.high)]


def _counts(lines: list[tuple[int, str]], largest: int) -> list[tuple[int, int]]:
    seen: dict[str, int] = {}
    counts = []
    for number, line in lines:
        try:
            content = parse(line)
            problem = problem_name(content, FIELDS)
            n, c = (count(present(content, field, FIELDS), field) for field in ("n", "c"))
            if n > MOST:
                raise LineError("n", f"must be at most {MOST:,} (got {n:,})")
            if c > n:
                raise LineError("c", f"{c} correct of {n} samples")
            if n < largest:
                raise LineError("n", f"{n} samples are fewer than k = {largest}")
            if problem in seen:
                raise LineError("problem", f"{problem!r} is in line {seen[problem]} too")
        except ValueError as error:
            fail(f"line {number}: {error}")
        seen[problem] = number
        counts.append((n, c))
    if not counts:
        fail('no counts: expected lines like {"problem": "aime-1", "n": 128, "c": 17}')
    return counts

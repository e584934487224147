"""`rlvr power`: how many training seeds and problems a comparison needs, from the scores of pilot runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.lines import fail

PERCENT = 100.0


def power(
    left: Annotated[list[Path], typer.Option(help="scores.csv of a method's runs: one for each training seed.")],
    right: Annotated[list[Path], typer.Option(help="The same of the other method, in the same order of seeds.")],
    k: Annotated[int, typer.Option("--k", help="The k of pass@k.", min=1)] = 1,
    seeds: Annotated[str, typer.Option(metavar="S,S,...", help="Numbers of seeds.")] = "3,5,8,12",
    problems: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of problems.")] = "150,300,450",
    difference: Annotated[float, typer.Option(help="A true difference, in percent points.")] = 2.0,
) -> None:
    """Print what so many seeds and problems can find, one JSON line for each pair of numbers.

    Pilot runs of two methods give the variances of their paired difference between seeds, between problems and of the
    rest. Out: {"seeds": 8, "problems": 150, "smallest_difference": 1.7, "power": 0.9, "seeds_needed": 6, ...}: the
    difference found with a power of 80 % by a two-sided test at 5 %, the power at `--difference`, and the fewest seeds
    that find it with 80 % on so many problems (null: 1,000 are too few).
    """
    from rlvr.files import RecordError
    from rlvr.statistics import power as formulas
    from rlvr.statistics.scores import matrix, pass_at, problems_of, read

    if len(left) != len(right):
        fail("power", f"--left has {len(left)} files and --right {len(right)}: seeds are paired")
    designs = [(s, n) for s in _numbers(seeds, "--seeds") for n in _numbers(problems, "--problems")]
    try:
        frames = [read(path) for path in (*left, *right)]
        problems_of(frames, [str(path) for path in (*left, *right)])
        both = [matrix(part, pass_at(k)) for part in (frames[: len(left)], frames[len(left) :])]
        of = formulas.components(PERCENT * (both[0] - both[1]))
    except (OSError, RecordError, ValueError, KeyError) as error:
        fail("power", str(error))
    spread = {"sd_seeds": of.seeds**0.5, "sd_problems": of.problems**0.5, "sd_rest": of.rest**0.5}
    for s, n in designs:
        smallest = formulas.smallest_difference(of, s, n, power=0.8, level=0.05)
        found = formulas.power_at(difference, of, s, n, level=0.05)
        row = {"k": k, "seeds": s, "problems": n, "smallest_difference": smallest, "difference": difference}
        needed = formulas.seeds_needed(difference, of, n, power=0.8, level=0.05)
        row |= {"power": found, "seeds_needed": needed, **spread}
        typer.echo(json.dumps({key: value if value is None else round(value, 4) for key, value in row.items()}))


def _numbers(text: str, option: str) -> list[int]:
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        fail("power", f"{option}: must be whole numbers with commas between (got {text[:80]!r})")
    if min(values) < 2:
        fail("power", f"{option}: must be at least 2 (got {text[:80]!r})")
    return values

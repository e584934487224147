"""`rlvr power`: how many training seeds and problems a comparison needs, from the scores of pilot runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr.commands.lines import fail, whole_numbers

if TYPE_CHECKING:
    from rlvr.statistics.intervals import Matrix
    from rlvr.statistics.power import Components

PERCENT = 100.0
POWER, LEVEL = 0.8, 0.05


def power(
    right: Annotated[list[Path], typer.Option(help="scores.csv of a method's runs: one for each training seed.")],
    left: Annotated[list[Path] | None, typer.Option(help="The same of the other, in the same order of seeds.")] = None,
    left_rate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATE=FILE",
            help="Instead of --left: its runs at three learning rates or more, to compare the methods at equal pass@1.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="The k of pass@k.", min=1)] = 1,
    seeds: Annotated[str, typer.Option(metavar="S,S,...", help="Numbers of seeds.")] = "3,5,8,12",
    problems: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of problems.")] = "150,300,450",
    difference: Annotated[float, typer.Option(help="A true difference, in percent points.")] = 2.0,
    as_json: Annotated[
        bool | None,
        typer.Option("--json/--table", help="JSON lines or a table. Default: a table on a terminal, else JSON lines."),
    ] = None,
) -> None:
    """Print what so many seeds and problems can find: a table on a terminal, elsewhere one JSON line for each pair.

    Pilot runs of two methods give the variances of their paired difference between seeds, between problems and of the
    rest. Out: {"seeds": 8, "problems": 150, "smallest_difference": 1.7, "power": 0.9, "seeds_needed": 6, ...}: the
    difference found with a power of 80 % by a two-sided test at 5 %, the power at `--difference`, and the fewest seeds
    that find it with 80 % on so many problems (null: 1,000 are too few). With `--left-rate` the difference is that at
    the right method's pass@1, on the left one's curve (`rlvr.statistics.frontier`).

    Example: rlvr power --left a1.csv --left a2.csv --right b1.csv --right b2.csv
    """
    from rlvr.files import RecordError
    from rlvr.statistics.power import components

    if bool(left) == bool(left_rate):
        fail("give the other method's runs by --left, or at several rates by --left-rate")
    curve = _curve(left_rate or [])
    for name, files in {"--left": left, **{f"--left-rate {rate:g}": files for rate, files in curve.items()}}.items():
        if files and len(files) != len(right):
            fail(f"{name} has {len(files)} files and --right {len(right)}: seeds are paired")
    designs = [(s, n) for s in whole_numbers(seeds, "--seeds", 2) for n in whole_numbers(problems, "--problems", 2)]
    try:
        of = components(PERCENT * _differences(left or [], curve, right, k))
    except (OSError, RecordError, ValueError, KeyError) as error:
        fail(str(error))
    rows = [{"k": k, **_row(of, s, n, difference)} for s, n in designs]
    if as_json is None:
        as_json = not sys.stdout.isatty()
    typer.echo("\n".join(map(json.dumps, rows)) if as_json else _table(rows))


def _row(of: Components, seeds: int, problems: int, difference: float) -> dict[str, Any]:
    from rlvr.statistics.power import power_at, seeds_needed, smallest_difference

    numbers = {
        "smallest_difference": smallest_difference(of, seeds, problems, power=POWER, level=LEVEL),
        "difference": difference,
        "power": power_at(difference, of, seeds, problems, level=LEVEL),
        "seeds_needed": seeds_needed(difference, of, problems, power=POWER, level=LEVEL),
        **{"sd_seeds": of.seeds**0.5, "sd_problems": of.problems**0.5, "sd_rest": of.rest**0.5},
    }
    rounded = {key: value if value is None else round(value, 4) for key, value in numbers.items()}
    return {"seeds": seeds, "problems": problems, **rounded}


def _table(rows: list[dict[str, Any]]) -> str:
    from tabulate import tabulate

    first = rows[0]
    headers = ("seeds", "problems", "smallest difference", f"power at {first['difference']:g}", "seeds needed")
    cells = [
        (row["seeds"], row["problems"], f"{row['smallest_difference']:.2f}", f"{row['power']:.0%}", row["seeds_needed"])
        for row in rows
    ]
    spread = ", ".join(f"{part} {first[f'sd_{part}']:.2f}" for part in ("seeds", "problems", "rest"))
    notes = (
        f"Differences of pass@{first['k']} in percent points. The smallest difference is found with a power of 80 %,",
        f"and the seeds needed find {first['difference']:g} with 80 %, both by a two-sided test at 5 %.",
        f"Standard deviations in the pilot runs: {spread}.",
    )
    right = ["right"] * len(headers)
    table = tabulate(cells, headers=headers, colalign=right, disable_numparse=True, missingval="over 1,000")
    return "\n".join([table, "", *notes])


def _differences(left: list[Path], curve: dict[float, list[Path]], right: list[Path], k: int) -> Matrix:
    """Differences in pass@k (S, N) of the left and the right method, with a curve at the right one's pass@1."""
    from rlvr.statistics.frontier import Knot, OutOfReach, at_pass_1
    from rlvr.statistics.scores import matrix, pass_at, problems_of, read

    paths = [*left, *(path for files in curve.values() for path in files), *right]
    frames = {path: read(path) for path in paths}
    problems_of([frames[path] for path in paths], [str(path) for path in paths])

    def scores(files: list[Path], k: int) -> Matrix:
        return matrix([frames[path] for path in files], pass_at(k))

    if not curve:
        return scores(left, k) - scores(right, k)
    knots = [Knot(rate, scores(files, 1), scores(files, k)) for rate, files in sorted(curve.items())]
    found = at_pass_1(knots, scores(right, 1))
    if isinstance(found, OutOfReach):
        raise ValueError(f"no comparison at equal pass@1, with --left-rate as the baseline: {found.reason}")
    return found.score_SN - scores(right, k)


def _curve(words: list[str]) -> dict[float, list[Path]]:
    curve: dict[float, list[Path]] = {}
    for word in words:
        rate, _, path = word.partition("=")
        try:
            curve.setdefault(float(rate), []).append(Path(path))
        except ValueError:
            fail(f"--left-rate: must be RATE=FILE, such as 1e-5=scores.csv (got {word[:80]!r})")
    return curve

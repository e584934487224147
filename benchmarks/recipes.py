"""Runs the recipes of docs/recipes.md in a scratch clone, and compares each figure with its bounds on that page.

    python benchmarks/recipes.py                  # all; fails where a figure is outside its bounds
    python benchmarks/recipes.py --quick          # those without training: two minutes
    python benchmarks/recipes.py --only theory

The clone is of the last commit and works with the environment of this Python. Rows in sequence with one command share
one run of it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pandas as pd
from scratch import ROOT, Scratch, finished, seconds

PAGE = ROOT / "docs/recipes.md"
NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
ROW = re.compile(
    r"^\| \*\*(?P<name>[\w-]+)\*\*: .+? \| `(?P<command>.+?)` \| (?P<figure>.+?) "
    rf"\| (?P<expected>{NUMBER}) \| (?P<low>{NUMBER}) \| (?P<high>{NUMBER}) \| (?P<takes>.+?) \|$",
    re.M,
)
HEAD = "| recipe | figure | measured | expected | bounds | took |\n|---|---|---|---|---|---|"


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@dataclass(frozen=True)
class Recipe:
    name: str
    command: str
    figure: str  # the table's cell
    expected: float
    low: float
    high: float
    takes: str

    @property
    def trains(self) -> bool:
        return "training" in self.takes

    @property
    def reads_runs(self) -> bool:
        """Whether it needs the runs of the default target."""
        return self.takes.endswith("after training")

    def value(self, said: str, folder: Path) -> float:
        """The figure in what the command printed, or in the file that the cell names. Raises an error without one."""
        first, *rest = re.findall(r"`([^`]+)`", self.figure)
        if not rest:
            return printed(first, said, "what the command prints")
        if not (folder / first).is_file():
            raise RuntimeError("the command made no such file")
        if first.endswith(("csv", "csv.xz")):
            return cell(folder / first, *rest)
        return printed(rest[0], (folder / first).read_text(), first)


def recipes(page: str) -> list[Recipe]:
    """The rows of the page's table."""
    return [
        Recipe(
            name=row["name"],
            command=row["command"].replace(r"\|", "|"),
            figure=row["figure"],
            takes=row["takes"],
            **{bound: number(row[bound]) for bound in ("expected", "low", "high")},
        )
        for row in ROW.finditer(page)
    ]


def printed(pattern: str, text: str, place: str) -> float:
    """The number at `{}` of a pattern; `...` is any text of a line. Raises RuntimeError where there is none."""
    regex = re.escape(pattern)
    for words, finds in (("{}", f"({NUMBER})"), ("...", ".*?"), (" ", " +")):
        regex = regex.replace(re.escape(words), finds)
    match = re.search(regex, text)
    if not match:
        raise RuntimeError(f"there is none in {place}")
    return number(match[1])


def cell(file: Path, column: str, *conditions: str) -> float:
    """A column of the one row of a CSV file in which each `key = value` holds. Raises RuntimeError without one."""
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    for key, value in (condition.split(" = ") for condition in conditions):
        rows = rows[rows[key] == value]
    if len(rows) != 1:
        raise RuntimeError(f"{file.name} has {len(rows)} rows with {', '.join(conditions)}")
    return number(rows[column].iloc[0])


# ---- run ----


def run(listed: list[Recipe], scratch: Scratch) -> Iterator[str]:
    """Runs recipes and prints a row for each; yields a line for each that fails or is outside its bounds."""
    for command, group in groupby(listed, key=lambda recipe: recipe.command):
        rows = list(group)
        print(f"{', '.join(recipe.name for recipe in rows)}: {command}", file=sys.stderr, flush=True)
        try:
            if rows[0].reads_runs:
                finished(scratch)
            began = time.perf_counter()
            said = scratch.shell(command)
        except (RuntimeError, OSError) as error:
            yield from (f"{recipe.name}: {error}" for recipe in rows)
            continue
        took = seconds(time.perf_counter() - began)
        for recipe in rows:
            try:
                value = recipe.value(said, scratch.folder)
            except (RuntimeError, KeyError, ValueError) as error:
                yield f"{recipe.name}: {recipe.figure}: {error}"
                continue
            figure, bounds = recipe.figure, f"{recipe.low:g} to {recipe.high:g}"
            print(f"| {recipe.name} | {figure} | {value:g} | {recipe.expected:g} | {bounds} | {took} |", flush=True)
            if not recipe.low <= value <= recipe.high:
                yield f"{recipe.name}: {figure} is {value:g}, expected {recipe.expected:g}, bounds {bounds}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the table")
    parser.add_argument("--only", action="append", metavar="NAME", help="one recipe; may be repeated")
    parser.add_argument("--quick", action="store_true", help="leave out recipes that train, or need trained runs")
    parser.add_argument("--results", type=Path, help="finished results, to be copied")
    arguments = parser.parse_args()
    listed = recipes(arguments.page.read_text())
    unknown = set(arguments.only or ()) - {recipe.name for recipe in listed}
    if unknown:
        parser.error(f"{arguments.page.name} has no recipe {', '.join(sorted(unknown))}")
    chosen = [recipe for recipe in listed if not arguments.only or recipe.name in arguments.only]
    chosen = [recipe for recipe in chosen if not (arguments.quick and recipe.trains)]
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        outside = list(run(chosen, Scratch(Path(folder) / "checkout", arguments.results)))
    for line in outside:
        print(line, file=sys.stderr)
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()

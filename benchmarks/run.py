"""`make bench`: figures of this machine beside their goals and the last committed ones of its kind, as one table.

It fails where a judged ratio is worse than the committed one by more than the share `SCATTER` of comparison.py. The
figures are written to build/bench/<kind>.json; `--keep` puts that file to those in benchmarks/baselines, to be
committed. With --smoke every line runs once, at the least size, and the figures mean nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import torch
from comparison import HEAD, Figure, kind_here, part, read, row, values, write
from measuring import ROOT, Size

from rlvr import provenance
from rlvr.training.deterministic import one_thread

PARTS = sorted(path.stem for path in (Path(__file__).parent / "parts").glob("*.py"))


def origin() -> dict[str, str]:
    """Where the figures of a part come from."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": provenance.commit(),
        "machine": f"{provenance.processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


def measured(name: str, folder: Path, size: Size, committed: dict[str, float]) -> list[Figure]:
    """The figures of a part, each printed as it is there."""
    figures = []
    for figure in import_module(f"parts.{name}").measure(folder / name, size):
        figures.append(figure)
        print(row(figure, committed.get(figure.name)), flush=True)
    return figures


def bench(parts: list[str], size: Size, out: Path, committed: Path) -> list[str]:
    """Measure parts, print and write their figures. Returns the names of judged ratios that got worse."""
    before, here = read(committed), origin()
    print(f"{', '.join(here.values())}\n\n{HEAD}", flush=True)
    worse, missing = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in parts:
            old = values(before[name]) if name in before else {}
            figures = measured(name, Path(folder), size, old)
            write(out, {name: part(figures, here)})
            worse += [figure.name for figure in figures if figure.name in old and figure.fell(old[figure.name])]
            missing += sorted(set(old) - {figure.name for figure in figures})
    print()
    for name in parts:
        of = before.get(name)
        words = f"{of['date']}, commit {of['commit']}, torch {of['torch']}" if of else "none, so nothing is judged"
        print(f"committed figures of {name}, {committed.stem}: {words}")
    if missing:
        print(f"committed, but not measured here: {', '.join(missing)}")
    return worse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="Python of the environment that has TRL and verl; without it: neither of them")
    parser.add_argument("--only", choices=PARTS, help="one part instead of all")
    parser.add_argument("--smoke", action="store_true", help="the least that runs every line; figures mean nothing")
    parser.add_argument(
        "--keep", action="store_true", help="measure nothing; put the last figures to the committed ones"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench", help="folder of the last figures")
    parser.add_argument("--baselines", type=Path, default=ROOT / "benchmarks/baselines", help="of committed figures")
    arguments = parser.parse_args()
    parts = [arguments.only] if arguments.only else PARTS
    file = f"{kind_here()}{'-smoke' if arguments.smoke else ''}.json"
    last, committed = arguments.out / file, arguments.baselines / file
    if arguments.keep:
        if lacking := [name for name in parts if name not in read(last)]:
            sys.exit(f"{last} has no figures of {', '.join(lacking)}: measure them first")
        write(committed, {name: read(last)[name] for name in parts})
        print(f"{committed} has the figures of {', '.join(parts)}; commit it")
        return
    one_thread()
    size = Size.smoke(arguments.python) if arguments.smoke else Size(arguments.python)
    if worse := bench(parts, size, last, committed):
        sys.exit(f"worse than the committed figures by more than the scatter: {', '.join(worse)}")


if __name__ == "__main__":
    main()

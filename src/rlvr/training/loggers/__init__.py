"""Loggers: where the figures of a run go beside its files, while it goes on. One module each; its name is its name in
`execution.loggers`.

A module, with a `LoggerKind` (rlvr.config.registries), imports without its package. No logger reaches a network. A
process that resumes writes the log anew, so no step is in it twice.
"""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from rlvr.config.registries import LOGGERS


class Logger(Protocol):
    def log(self, step: int, figures: dict[str, float]) -> None: ...

    def close(self) -> None: ...


def check(names: Sequence[str]) -> None:
    """Exits where the package of a logger is not installed for this Python."""
    for name in names:
        package = LOGGERS.load(name).package
        if getattr(importlib.util.find_spec(package), "origin", None) is None:  # a folder ./wandb is no package
            sys.exit(f"execution.loggers: {package} is not installed for {sys.executable}: pip install {package}")


def begin(names: Sequence[str], out: Path, head: dict[str, Any]) -> list[Logger]:
    """A new log for each name, in the folder `out`/<name>."""
    check(names)
    opened = []
    for name in dict.fromkeys(names):
        folder = (out / name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        opened.append(LOGGERS.load(name).begin(folder, head))
    return opened


def figures(kind: str, row: dict[str, Any]) -> dict[str, float]:
    """The numbers of a row by their names in docs/training.md: metrics/pass_rate, metrics/timing/step, probe/oef.

    Lists, such as solve_rates, and missing values are left out.
    """
    return dict(_numbers(kind, {key: value for key, value in row.items() if key != "step"}))


def _numbers(place: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(f"{place}/{key}", inner)
    elif isinstance(value, (int, float)):
        yield place, float(value)

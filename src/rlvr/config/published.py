"""The published tables of config/papers/<paper>/reference/: their models, methods and benchmarks."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rlvr.config.layers import ConfigError
from rlvr.suggest import nearest

COLUMNS = ["paper", "table", "model", "method", "benchmark", "k", "value", "ci"]


def lookup_key(name: str) -> str:
    """A name for lookups in published tables: AIME 2025 and AIME-2025 are equal."""
    return "".join(character for character in str(name).lower() if character.isalnum())


@dataclass(frozen=True)
class PublishedTable:
    """The names of a published table, in its own order."""

    file: str
    models: tuple[str, ...]
    methods: tuple[str, ...]
    benchmarks: tuple[str, ...]

    def check_model(self, name: str, place: str) -> None:
        self._check("model", name, self.models, place, lookup_key)

    def check_benchmark(self, name: str, place: str) -> None:
        self._check("benchmark", name, self.benchmarks, place, lookup_key)

    def check_method(self, name: str, place: str) -> None:
        self._check("method", name, self.methods, place, str)

    def _check(self, what: str, name: str, valid: tuple[str, ...], place: str, key: Callable[[str], str]) -> None:
        """Raises ConfigError where the file lacks the name: its numbers would be missing silently."""
        if key(name) not in map(key, valid):
            raise ConfigError(f"{place}: no {what} {name!r} in {self.file}{nearest(name, valid)}")


def read(root: Path, name: str, place: str) -> PublishedTable:
    """The names in a file below config/papers/. Raises ConfigError where it is missing or malformed."""
    file = f"config/papers/{name}"
    path = root / file
    if not path.is_file():
        siblings = [other.name for other in path.parent.glob("*.csv")]
        raise ConfigError(f"{place}: no such file: {file}{nearest(path.name, siblings)}")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        head = next(rows, [])
        if head != COLUMNS:
            raise ConfigError(f"{file}: its columns are {', '.join(head)}; they must be {', '.join(COLUMNS)}")
        names: dict[str, dict[str, None]] = {column: {} for column in COLUMNS}
        for number, row in enumerate(rows, 2):
            if len(row) != len(COLUMNS):
                raise ConfigError(f"{file}, line {number}: has {len(row)} values, but needs {len(COLUMNS)}")
            for column, value in zip(COLUMNS, row, strict=True):
                names[column][value] = None
    return PublishedTable(file, tuple(names["model"]), tuple(names["method"]), tuple(names["benchmark"]))

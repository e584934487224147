"""Row adapters: a row as a set publishes it -> a problem. One module a published format; its name is the `adapter`.

A module has `FIELDS`, what it reads: our name -> the field's name in the published file (an entry's `fields` may rename
them); `OPTIONAL`, which of our names a file may lack; and `adapt(row, spec) -> Draft`, pure, which reads the row's
fields by our names and types, and raises `LeftOut` with a reason for a row that makes no problem. It may have
`facts(spec)`: lines that the card has of the entry's settings, those of this format alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

from rlvr.data.adapters._row import LeftOut, Row
from rlvr.data.rows import DataError

__all__ = ["Draft", "LeftOut", "Refused", "Row", "load"]


@dataclass(frozen=True)
class Draft:
    """A problem before it has an id. `response` is a demonstration; `dropped` counts tests by why they were dropped."""

    prompt: str
    gold: str
    level: str = "all"
    cluster: str = ""
    pictures: tuple[bytes, ...] = ()
    response: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)


class Refused(DataError):
    """A file with content that is not to be trusted, such as a pickle that calls code. Nothing of it is used."""


def load(name: str) -> ModuleType:
    return importlib.import_module(f"rlvr.data.adapters.{name}")

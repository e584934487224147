"""Row adapters: a row as a set publishes it -> a problem. One module a published format; its name is the `adapter`.

A module has `FIELDS`, what it reads: our name -> the field's name in the published file (an entry's `fields` may rename
them); `OPTIONAL`, which of our names a file may lack; and `adapt(row, spec) -> Draft`, pure, which gets the row by our
names and raises `LeftOut` with a reason for a row that makes no problem.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from rlvr.tasks.rows import DataError


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


class LeftOut(Exception):
    """A row that makes no problem. The message is the reason, in the few words that it is counted under."""


class Refused(DataError):
    """A file with content that is not to be trusted, such as a pickle that calls code. Nothing of it is used."""


def names() -> list[str]:
    modules = Path(__file__).parent.glob("[a-z]*.py")
    return sorted(path.stem for path in modules)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"rlvr.tasks.adapters.{name}")


def text_of(value: object, reason: str) -> str:
    """A field as text without outer white space; an empty one leaves the row out."""
    text = "" if value is None else str(value).strip()
    if not text:
        raise LeftOut(reason)
    return text

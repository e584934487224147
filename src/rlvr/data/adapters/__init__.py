"""Row adapters: a published row -> a problem. One module per published format; its name is the entry's `adapter`.

`ADAPTER = AdapterKind(...)` (rlvr.config.registries) has the pure `adapt(row, spec) -> Draft`, which reads fields by
our names and types, and raises `LeftOut` with a reason for a row without a problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlvr.data.adapters._row import LeftOut, Row
from rlvr.data.rows import DataError

__all__ = ["Draft", "LeftOut", "Row", "UntrustedFile"]


@dataclass(frozen=True)
class Draft:
    """A problem before it has an id. `response` is a demonstration; `dropped` counts dropped tests by reason.

    `gold` may be as published, such as a worked solution: `rlvr.data.published` reads the answer in it. `form` is the
    form of the published field (rlvr.data.golds), if the adapter has read it.
    `pictures` are contents; `archived` names further ones in the set's archive.
    """

    prompt: str
    gold: str
    level: str = "all"
    cluster: str = ""
    pictures: tuple[bytes, ...] = ()
    archived: tuple[str, ...] = ()
    response: str | None = None
    form: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)


class UntrustedFile(DataError):
    """A file with untrusted content, such as a pickle that calls code. Nothing of it is used."""

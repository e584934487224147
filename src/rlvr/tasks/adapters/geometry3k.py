"""Geometry3K: one picture or more, a question, an answer."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of
from rlvr.tasks.adapters._pictures import content

FIELDS = {"prompt": "problem", "gold": "answer", "pictures": "images"}
OPTIONAL: set[str] = set()


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    pictures = tuple(content(value) for value in row["pictures"] or ())
    if not pictures:
        raise LeftOut("no picture")
    return Draft(text_of(row["prompt"], "no question"), text_of(row["gold"], "no answer"), pictures=pictures)

"""MathVerse: each problem in several versions, from much text to none. The problem is the unit of resampling."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, text_of
from rlvr.tasks.adapters._pictures import content

FIELDS = {
    "prompt": "question",
    "gold": "answer",
    "pictures": "image",
    "cluster": "problem_index",
    "level": "problem_version",
}
OPTIONAL: set[str] = set()
IN_THE_PICTURE = "The question stands in the picture."  # ours: the version "Vision Only" has no text


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    return Draft(
        str(row["prompt"] or "").strip() or IN_THE_PICTURE,
        text_of(row["gold"], "no answer"),
        text_of(row["level"], "no version"),
        f"{spec.name}-problem-{text_of(row['cluster'], 'no problem index')}",
        (content(row["pictures"]),),
    )

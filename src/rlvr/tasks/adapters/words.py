r"""Word problems with an answer: MATH-500, DeepScaleR, the processed DAPO-Math-17K. A gold in \boxed{} is unpacked."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, text_of
from rlvr.verifiers import last_boxed

FIELDS = {"prompt": "problem", "gold": "answer", "level": "level"}
OPTIONAL = {"level"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    gold = text_of(row["gold"], "no answer")
    level = row.get("level")
    return Draft(
        text_of(row["prompt"], "no question"), last_boxed(gold) or gold, "all" if level in (None, "") else str(level)
    )

"""MathVision: a picture, and options where the answer is a letter."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, text_of
from rlvr.tasks.adapters._pictures import content, with_options

FIELDS = {
    "prompt": "question",
    "gold": "answer",
    "options": "options",
    "pictures": "decoded_image",
    "level": "level",
}
OPTIONAL = {"level"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    options = [str(option) for option in row["options"] or ()]
    question = text_of(row["prompt"], "no question")
    # Options that are the letters themselves stand in the picture.
    listed = with_options(question, options) if options and options != list("ABCDE")[: len(options)] else question
    level = str(row.get("level") or "all")
    return Draft(listed, text_of(row["gold"], "no answer"), level, pictures=(content(row["pictures"]),))

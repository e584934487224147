"""OpenCodeReasoning-2: responses to problems of other sets. The question is joined in from them (rlvr.tasks.joins).

It is for demonstrations only: a row has no tests, so its problem has no gold.
"""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of

FIELDS = {
    "prompt": "question",
    "dataset": "dataset",
    "split": "split",
    "index": "index",
    "response": "r1_generation",
    "judgement": "judgement",
    "level": "difficulty",
}
OPTIONAL = {"judgement", "level"}


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    question = text_of(row["prompt"], "question not found in its original set")
    if question == "-":
        raise LeftOut("question not found in its original set")
    if row.get("judgement") == "wrong":
        raise LeftOut("judged wrong")
    response = text_of(row["response"], "no response")
    return Draft(question, "", str(row.get("level") or "all"), response=response)

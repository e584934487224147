"""OpenMathReasoning: problems with an extracted answer; the response of a row is a demonstration."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of

FIELDS = {"prompt": "problem", "gold": "expected_answer", "kind": "problem_type", "response": "generated_solution"}
OPTIONAL: set[str] = set()


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    if row["kind"] != "has_answer_extracted":
        raise LeftOut(str(row["kind"] or "no kind").replace("_", " "))
    gold, response = text_of(row["gold"], "no answer"), text_of(row["response"], "no response")
    return Draft(text_of(row["prompt"], "no question"), gold, response=response)

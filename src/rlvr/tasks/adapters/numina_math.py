"""NuminaMath-1.5: without proofs, without answers that were not found, without what its authors marked as invalid."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of

FIELDS = {
    "prompt": "problem",
    "gold": "answer",
    "kind": "question_type",
    "problem_valid": "problem_is_valid",
    "solution_valid": "solution_is_valid",
}
OPTIONAL: set[str] = set()


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    gold = text_of(row["gold"], "no answer")
    if row["kind"] == "proof" or gold.lower() == "proof":
        raise LeftOut("proof")
    if gold.lower() == "notfound":
        raise LeftOut("answer not found")
    if row["problem_valid"] != "Yes":
        raise LeftOut("problem marked invalid")
    if row["solution_valid"] != "Yes":
        raise LeftOut("solution marked invalid")
    return Draft(text_of(row["prompt"], "no question"), gold)

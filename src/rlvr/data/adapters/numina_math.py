"""NuminaMath-1.5, without proofs, missing answers, and rows that its authors marked as invalid."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row

FIELDS = {
    "prompt": "problem",
    "gold": "answer",
    "kind": "question_type",
    "problem_valid": "problem_is_valid",
    "solution_valid": "solution_is_valid",
}


def adapt(row: Row, spec: Published) -> Draft:
    gold = row.gold()
    if row.maybe_text("kind") == "proof":
        raise LeftOut("proof")
    if row.maybe_text("problem_valid") != "Yes":
        raise LeftOut("problem marked invalid")
    if row.maybe_text("solution_valid") != "Yes":
        raise LeftOut("solution marked invalid")
    return Draft(row.text("prompt", "no question"), gold)


ADAPTER = AdapterKind(adapt, FIELDS)

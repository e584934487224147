r"""Word problems with an answer: MATH-500, DeepScaleR, the processed DAPO-Math-17K. Golds lose their \boxed{}."""

from rlvr.config.schema.names import Published
from rlvr.data.adapters import Draft, Row
from rlvr.verifiers import last_boxed

FIELDS = {"prompt": "problem", "gold": "answer", "level": "level"}
OPTIONAL = {"level"}


def adapt(row: Row, spec: Published) -> Draft:
    gold = row.answer("gold", "no answer")
    return Draft(row.text("prompt", "no question"), last_boxed(gold) or gold, row.label("level"))

"""Word problems with an answer, or a worked solution that ends in one (rlvr.data.golds): MATH-500, DeepScaleR."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, Row
from rlvr.data.golds import answer_of

FIELDS = {"prompt": "problem", "gold": "answer", "level": "level"}


def adapt(row: Row, spec: Published) -> Draft:
    gold = row.answer("gold", "no answer")
    return Draft(row.text("prompt", "no question"), answer_of(gold), row.label("level"))


ADAPTER = AdapterKind(adapt, FIELDS, optional={"level"})

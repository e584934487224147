"""Word problems with an answer, or a worked solution that ends in one (rlvr.data.golds): MATH-500, DeepScaleR."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, Row
from rlvr.data.golds import read

FIELDS = {"prompt": "problem", "gold": "answer", "level": "level"}


def adapt(row: Row, spec: Published) -> Draft:
    gold = read(row.gold(), "math", published=True)  # also where another verifier, such as `exact`, compares it
    return Draft(row.text("prompt", "no question"), gold.text, row.label("level"), form=gold.form)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"level"})

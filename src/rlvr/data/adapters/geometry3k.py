"""Geometry3K: one picture or more, a question, an answer."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._pictures import content

FIELDS = {"prompt": "problem", "gold": "answer", "pictures": "images"}


def adapt(row: Row, spec: Published) -> Draft:
    pictures = tuple(content(value) for value in row.listed("pictures"))
    if not pictures:
        raise LeftOut("no picture")
    return Draft(row.text("prompt", "no question"), row.gold(), pictures=pictures)


ADAPTER = AdapterKind(adapt, FIELDS)

"""HuatuoGPT-Vision's evaluation data: medical sets in one file, questions by choice, pictures in an archive."""

import json

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._pictures import with_options

FIELDS = {
    "prompt": "question",
    "options": "options",
    "gold": "answer",
    "pictures": "image",
    "subset": "subset",
    "level": "dataset",
}
LETTERS = "ABCDEFGHIJ"


def adapt(row: Row, spec: Published) -> Draft:
    if spec.subset is not None and row.label("subset") != spec.subset:
        raise LeftOut("another subset")
    options, answer = row.texts("options"), row.answer("gold", "no answer")
    if answer not in options or not 2 <= len(options) <= len(LETTERS):
        raise LeftOut("the answer is none of the options")
    archived = tuple(row.texts("pictures"))
    if not archived:
        raise LeftOut("no picture")
    gold = {"letter": LETTERS[options.index(answer)], "options": options}
    prompt = with_options(row.text("prompt", "no question"), options)
    return Draft(prompt, json.dumps(gold), row.label("level"), archived=archived)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"subset", "level"})

"""OpenCodeReasoning-2: responses to problems of other sets, which give the questions (rlvr.data.joins).

For demonstrations only: rows have no tests, so problems have no gold.
"""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row

FIELDS = {
    "prompt": "question",
    "dataset": "dataset",
    "split": "split",
    "index": "index",
    "response": "r1_generation",
    "judgement": "judgement",
    "level": "difficulty",
}


def adapt(row: Row, spec: Published) -> Draft:
    question = row.text("prompt", "question not found in its original set")
    if question == "-":
        raise LeftOut("question not found in its original set")
    if row.maybe_text("judgement") == "wrong":
        raise LeftOut("judged wrong")
    response = row.text("response", "no response")
    return Draft(question, "", row.label("level"), response=response)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"judgement", "level"}, golds=False)

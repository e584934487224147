"""OpenMathReasoning: problems with an extracted answer; the response of a row is a demonstration.

A problem has several rows, by DeepSeek-R1 and by QwQ-32B. `subset` takes those by one of them.
"""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row

FIELDS = {
    "prompt": "problem",
    "gold": "expected_answer",
    "kind": "problem_type",
    "response": "generated_solution",
    "subset": "generation_model",
}
OTHER_KINDS = {"no_answer_extracted": "no answer extracted", "converted_proof": "converted proof"}


def adapt(row: Row, spec: Published) -> Draft:
    if spec.subset is not None and row.text("subset", "names no model") != spec.subset:
        raise LeftOut("by another model")
    kind = row.maybe_text("kind")
    if kind != "has_answer_extracted":
        raise LeftOut(OTHER_KINDS.get(kind, "no known kind"))
    gold, response = row.gold(), row.text("response", "no response")
    return Draft(row.text("prompt", "no question"), gold, response=response)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"subset"})

"""MathVerse: several versions of each problem, from much text to none. The problem is the unit of resampling."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, Row
from rlvr.data.adapters._pictures import content

FIELDS = {
    "prompt": "question",
    "gold": "answer",
    "pictures": "image",
    "cluster": "problem_index",
    "level": "problem_version",
}
IN_THE_PICTURE = "The question stands in the picture."  # ours: the version "Vision Only" has no text


def adapt(row: Row, spec: Published) -> Draft:
    return Draft(
        row.maybe_text("prompt", IN_THE_PICTURE),
        row.gold(),
        row.text("level", "no version"),
        f"{spec.name}-problem-{row.answer('cluster', 'no problem index')}",
        (content(row.values["pictures"]),),
    )


ADAPTER = AdapterKind(adapt, FIELDS)

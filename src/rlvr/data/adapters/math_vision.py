"""MathVision: a picture, and options if the answer is a letter."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, Row
from rlvr.data.adapters._pictures import content, with_options

FIELDS = {"prompt": "question", "gold": "answer", "options": "options", "pictures": "decoded_image", "level": "level"}


def adapt(row: Row, spec: Published) -> Draft:
    options = row.texts("options")
    question = row.text("prompt", "no question")
    # Options that are only letters are in the picture.
    prompt = with_options(question, options) if options and options != list("ABCDE")[: len(options)] else question
    level = row.label("level")
    return Draft(prompt, row.gold(), level, pictures=(content(row.values["pictures"]),))


ADAPTER = AdapterKind(adapt, FIELDS, optional={"level"})

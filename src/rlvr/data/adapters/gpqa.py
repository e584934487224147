"""GPQA: four options in an order that depends only on the entry's seed and the question; the gold has all options."""

import hashlib
import json
from typing import Any

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row

FIELDS = {
    "prompt": "Question",
    "right": "Correct Answer",
    "wrong1": "Incorrect Answer 1",
    "wrong2": "Incorrect Answer 2",
    "wrong3": "Incorrect Answer 3",
    "level": "High-level domain",
}


def adapt(row: Row, spec: Published) -> Draft:
    question = row.text("prompt", "no question")
    options = [row.answer(name, "an option is missing") for name in ("right", "wrong1", "wrong2", "wrong3")]
    if len(set(options)) < len(options):
        raise LeftOut("two options are equal")
    order = shuffled(question, options, spec.shuffle_seed)
    lines = [f"{letter}) {options[i]}" for letter, i in zip("ABCD", order, strict=True)]
    gold = {"letter": "ABCD"[order.index(0)], "options": [options[i] for i in order]}
    return Draft("\n".join([question, "", *lines]), json.dumps(gold), row.label("level"))


def facts(spec: dict[str, Any]) -> list[str]:
    return [f"Order of options: SHA-256 of seed {spec['shuffle_seed']}, question and option"]


def shuffled(question: str, options: list[str], seed: int) -> list[int]:
    """The options' indices ordered by SHA-256 of seed, question and option: the same on every machine."""

    def key(i: int) -> tuple[str, int]:
        return hashlib.sha256(f"{seed}\0{question}\0{options[i]}".encode()).hexdigest(), i

    return sorted(range(len(options)), key=key)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"level"}, facts=facts)

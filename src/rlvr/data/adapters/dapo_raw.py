"""DAPO-Math-17K as first published: a chat message that wraps the problem, and the answer in `reward_model`."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row

FIELDS = {"prompt": "prompt", "gold": "reward_model"}
# The first words of the first and the last paragraph, which the processed copy lacks.
WRAPPING = ("Solve the following math problem", "Remember to put your answer")


def adapt(row: Row, spec: Published) -> Draft:
    messages = row.listed("prompt")
    if not messages:
        raise LeftOut("no question")
    question = Row({"last": messages[-1]}, {"last": row.published("prompt")}).mapping("last")
    gold = row.mapping("gold").gold("ground_truth")
    return Draft(unwrapped(question.text("content", "no question")), gold)


def unwrapped(message: str) -> str:
    paragraphs = message.strip().split("\n\n")
    if len(paragraphs) > 1 and paragraphs[0].startswith(WRAPPING[0]):
        paragraphs = paragraphs[1:]
    if len(paragraphs) > 1 and paragraphs[-1].startswith(WRAPPING[1]):
        paragraphs = paragraphs[:-1]
    return "\n\n".join(paragraphs)


ADAPTER = AdapterKind(adapt, FIELDS)

"""DAPO-Math-17K as first published: a chat message that wraps the problem, and the answer in `reward_model`."""

from __future__ import annotations

from typing import Any

from rlvr.config.schema import Published
from rlvr.tasks.adapters import Draft, LeftOut, text_of

FIELDS = {"prompt": "prompt", "gold": "reward_model"}
OPTIONAL: set[str] = set()
# How the first and the last paragraph of the wrapping begin; the processed copy is without them.
WRAPPING = ("Solve the following math problem", "Remember to put your answer")


def adapt(row: dict[str, Any], spec: Published) -> Draft:
    messages = row["prompt"]
    if not messages:
        raise LeftOut("no question")
    gold = (row["gold"] or {}).get("ground_truth")
    return Draft(text_of(unwrapped(str(messages[-1]["content"])), "no question"), text_of(gold, "no answer"))


def unwrapped(message: str) -> str:
    paragraphs = message.strip().split("\n\n")
    if len(paragraphs) > 1 and paragraphs[0].startswith(WRAPPING[0]):
        paragraphs = paragraphs[1:]
    if len(paragraphs) > 1 and paragraphs[-1].startswith(WRAPPING[1]):
        paragraphs = paragraphs[:-1]
    return "\n\n".join(paragraphs)

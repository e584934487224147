r"""The form of a response: a thought between tags, then a box (A-GRAE, App. C.2; verl's reward of Geometry3K)."""

import re

_FORM = re.compile(r"\s*<think>.*</think>.*\\boxed\s*\{.*\}.*", re.DOTALL)


def well_formed(text: str) -> bool:
    r"""Whether a text is `<think> ... </think> ... \boxed{ ... }`, right or wrong."""
    return _FORM.fullmatch(text) is not None

"""Exact match of the boxed answer, or of the whole completion where there is no box."""

from __future__ import annotations

from rlvr.verifiers import Judgement, ends_in_open_box, last_boxed
from rlvr.verifiers._text import visible

VERSION = 1


def judge(text: str, gold: str) -> Judgement:
    """Equal after NFKC and without invisible characters; letters keep their case."""
    if ends_in_open_box(text):
        return "unparsable", None
    boxed = last_boxed(text)
    answer = visible(text if boxed is None else boxed)
    if not answer:
        return "unparsable", None
    return ("correct" if answer == visible(gold) else "wrong"), answer


quick = judge

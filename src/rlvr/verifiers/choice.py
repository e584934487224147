"""Multiple choice (GPQA, Geometry3K): the letter of the chosen option."""

from __future__ import annotations

import re

from rlvr.verifiers import Judgement, ends_in_open_box, last_boxed
from rlvr.verifiers._text import visible

VERSION = 1
_BOXED = re.compile(r"^\W*(?:\\(?:text|mathrm|textbf|mathbf)\s*\{)?\W*([A-J])(?![A-Za-z])", re.ASCII)
_STATED = re.compile(r"\b(?:answer|choice|option)\b\s*(?:is|:)?\s*\W{0,4}([A-J])\b(?!['’])", re.IGNORECASE | re.ASCII)


def judge(text: str, gold: str) -> Judgement:
    """The letter in the last box, else the one last stated ("the answer is (B)"), else a completion that is one letter.

    A box with several letters is no choice: unparsable.
    """
    if ends_in_open_box(text):
        return "unparsable", None
    boxed, cleaned = last_boxed(text), visible(text)
    if boxed is not None:
        letters = set(re.findall(r"(?<![A-Za-z\\])[A-J](?![A-Za-z])", visible(boxed)))
        found = _BOXED.match(visible(boxed)) if len(letters) == 1 else None
        letter = found.group(1) if found else None
    else:
        stated = [letter for letter in _STATED.findall(cleaned) if letter.isupper()]
        letter = stated[-1] if stated else cleaned.strip("() .") if re.fullmatch(r"\(?[A-J]\)?\.?", cleaned) else None
    if letter is None:
        return "unparsable", None
    return ("correct" if letter == visible(gold).strip("()").upper() else "wrong"), letter


quick = judge

"""Texts of both views: a rollout before its first false step, the step, and the rest; intervals in percent."""

import re
from typing import NamedTuple

from rlvr.config.measures import PERCENTAGE, Range, of_difference
from rlvr.show.groups import Shown
from rlvr.statistics.intervals import Interval
from rlvr.statistics.shown import brackets

MISSING = "[a step is missing]"


class Pieces(NamedTuple):
    before: str
    false: str  # empty where all steps hold, or nothing can check them
    after: str


def pieces(shown: Shown, rollout: int) -> Pieces:
    """The pieces of a rollout, without control characters, which could command a terminal."""
    text, place = shown.group.responses[rollout], shown.false_word(rollout)
    if place is None:
        return Pieces(printable(text), "", "")
    words = list(re.finditer(r"\S+", text.split(shown.task.answer)[0] if shown.task else text))
    start, end = words[place].span() if place < len(words) else (words[-1].end() if words else 0,) * 2
    false = text[start:end] or f" {MISSING}"
    return Pieces(*map(printable, (text[:start], false, text[end:])))


def printable(text: str) -> str:
    """The text with a sign instead of each control character other than a tab or the end of a line."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "\ufffd", text.replace("\r\n", "\n"))


def percent(interval: Interval) -> str:
    """`52.1 [48.0, 56.2]`, in percent."""
    return _text(interval, ".1f", PERCENTAGE)


def signed(interval: Interval) -> str:
    """`+1.3 [-0.4, +3.0]`, in percent points."""
    return _text(interval, "+.1f", of_difference(PERCENTAGE))


def _text(interval: Interval, form: str, possible: Range) -> str:
    return f"{100 * interval.estimate:{form}}{brackets(100 * interval.low, 100 * interval.high, form, possible)}"

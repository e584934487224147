"""The answers of one problem's samples: which are the same, which has the most votes, how spread they are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from rlvr.verifiers._latex import plain

VERSION = 3  # goes up when a vote or a measure of diversity changes, which scores again and grades nothing
LONGEST = 2_000  # characters of an answer that are read for decoration; a longer text is compared without its spaces

CORRECT = ("correct", "")
AnswerClass = tuple[str, str]


def answer_class(status: str, extracted: str | None) -> AnswerClass | None:
    """What a sample votes for, or None for no vote.

    All correct samples are one class: the verifier says that each equals the gold. A wrong one is of the class of its
    text without decoration and spaces. No vote: an unparsable, truncated or killed one, one on which the verifier
    failed, and a wrong one of which nothing was extracted.
    """
    if status == "correct":
        return CORRECT
    if status != "wrong" or extracted is None:
        return None
    return "wrong", re.sub(r"\s+", "", plain(extracted) if len(extracted) <= LONGEST else extracted)


def votes(answers: Iterable[tuple[str, str | None]]) -> Counter[AnswerClass]:
    """Votes by class, of (status, extracted) pairs."""
    return Counter(found for status, extracted in answers if (found := answer_class(status, extracted)) is not None)


def majority(counts: Counter[AnswerClass]) -> float:
    """maj@n of one problem (Wang et al. 2023, self-consistency): is the most frequent of all n answers correct?

    1 / (number of classes that share the largest count) where the correct class is one of them, which is the chance
    that a tie broken at random goes to it; else 0. No vote at all: 0.

    Wrong answers that are equal but written differently are not merged, so that they may split their votes: the value
    is at least that of an exact merging.
    """
    largest = max(counts.values(), default=0)
    if largest == 0 or counts[CORRECT] < largest:
        return 0.0
    return 1 / sum(count == largest for count in counts.values())


def entropy(counts: Iterable[int]) -> float:
    """Shannon entropy in nats, -sum p log p with p = count / N: the plug-in estimate. No count: NaN.

    Its expectation is about (classes - 1) / (2 N) below the entropy that the counts are drawn from (Miller 1955).
    """
    present = [count for count in counts if count > 0]
    total = sum(present)
    if total == 0:
        return math.nan
    return math.log(total) - sum(count * math.log(count) for count in present) / total


def miller_madow(counts: Iterable[int]) -> float:
    """The plug-in entropy plus (observed classes - 1) / (2 N) (Miller 1955): its bias to first order, taken back."""
    present = [count for count in counts if count > 0]
    return entropy(present) + (len(present) - 1) / (2 * sum(present)) if present else math.nan

"""The answers of one problem's samples: classes of equal answers, the majority, the spread."""

import math
import re
from collections import Counter
from collections.abc import Iterable

from rlvr.verifiers._rewritings import undecorated

VERSION = 3  # raise it when a vote or a measure of diversity changes: that repeats scoring, not grading
LONGEST = 2_000  # characters; longer answers keep their decoration and lose only spaces

CORRECT = ("correct", "")
AnswerClass = tuple[str, str]


def answer_class(status: str, extracted: str | None) -> AnswerClass | None:
    """The class that a sample votes for; None for no vote.

    All correct samples are one class: the verifier says that each equals the gold. The class of a wrong sample is its
    text without decoration and spaces. No vote: an unparsable, truncated or killed sample, one on which the verifier
    failed, and a wrong one without an extracted answer.
    """
    if status == "correct":
        return CORRECT
    if status != "wrong" or extracted is None:
        return None
    return "wrong", re.sub(r"\s+", "", undecorated(extracted) if len(extracted) <= LONGEST else extracted)


def votes(answers: Iterable[tuple[str, str | None]]) -> Counter[AnswerClass]:
    """Votes by class, of (status, extracted) pairs."""
    return Counter(vote for status, extracted in answers if (vote := answer_class(status, extracted)) is not None)


def majority(counts: Counter[AnswerClass]) -> float:
    """maj@n of one problem (Wang et al. 2023, self-consistency): is the most frequent of all n answers correct?

    1 / (number of classes that share the largest count) if the correct class is one of them: its chance in a tie broken
    at random. Else, and without any vote, 0.

    Equal wrong answers in different notation stay apart and may split their votes: the value is at least that of exact
    merging.
    """
    largest = max(counts.values(), default=0)
    if largest == 0 or counts[CORRECT] < largest:
        return 0.0
    return 1 / sum(count == largest for count in counts.values())


def entropy(counts: Iterable[int]) -> float:
    """Shannon entropy in nats, -sum p log p with p = count / N: the plug-in estimate. No count: NaN.

    Its expectation is about (classes - 1) / (2 N) below the true entropy (Miller 1955).
    """
    present = [count for count in counts if count > 0]
    total = sum(present)
    if total == 0:
        return math.nan
    return math.log(total) - sum(count * math.log(count) for count in present) / total


def miller_madow(counts: Iterable[int]) -> float:
    """The plug-in entropy plus (observed classes - 1) / (2 N) (Miller 1955), which corrects its first-order bias."""
    present = [count for count in counts if count > 0]
    return entropy(present) + (len(present) - 1) / (2 * sum(present)) if present else math.nan

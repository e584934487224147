r"""A set's golds: the answer in a published one, texts that say there is none, and a check by the set's own verifier.

Published golds are answers, or worked solutions that end in one: behind `####` on the last line (GSM8K), in a last
\boxed{...} (MATH), or in Minerva's last sentence.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.records import Problem, read_records
from rlvr.verifiers import OPEN, THOUGHT, in_one_notation, last_boxed
from rlvr.verifiers.pool import Pool

MOST = 20_000  # golds checked per set, evenly spaced: math-verify takes milliseconds for each
FIRST = 200  # golds checked before a run
WORDS = 8  # a gold of more words is a sentence, which no answer equals

_MARKED = re.compile(r"(?:^|\n)[ \t]*####[ \t]*(\S.*?)\s*\Z")
_MINERVA = re.compile(r"final answer is:?\s*(\S.*?)[.\s]*I hope it is correct\.?\s*\Z", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}|[$.]")
_PLAIN = re.compile(r"-?\d+|[A-J]")  # equal to itself for every verifier
_NONE = {
    **dict.fromkeys(("proof", "proof omitted"), "proof"),
    **dict.fromkeys(("notfound", "not found", "unknown"), "answer not found"),
}
MATHEMATICS = ("math", "math_verify")  # verifiers whose golds are mathematical answers
SOLVED = (*MATHEMATICS, "choice")  # verifiers whose golds may be worked solutions


def answer_of(gold: str, verifier: str = "math") -> str:
    """The answer that a worked solution ends in. As it is: any other gold, JSON, a gold of another verifier."""
    if verifier not in SOLVED or _is_object(gold):
        return gold
    if gold.startswith(THOUGHT):
        return THOUGHT + answer_of(gold.removeprefix(THOUGHT), verifier)
    ends = _MARKED.search(gold) or _MINERVA.search(gold)
    answer = ends[1] if ends else gold
    return boxed(answer) or answer


def boxed(solution: str) -> str | None:
    r"""The content of the last \boxed{...}, \fbox{...} or \boxed 5; None without a box."""
    text = in_one_notation(solution)
    bare = list(re.finditer(r"\\boxed\s+((?:[^\s{}$.,;]|[.,](?=\d))+)", text))
    braced = [match.start() for match in re.finditer(r"\\boxed\s*\{", text)]
    if bare and (not braced or bare[-1].start() > braced[-1]):
        return bare[-1].group(1)
    return last_boxed(text)


def _is_object(text: str) -> bool:
    try:
        return text.lstrip().startswith("{") and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def no_answer(gold: str, verifier: str, published: bool = False) -> str | None:
    """Why a gold of mathematics is none, as NuminaMath's `notfound`, `Proof omitted`; None for an answer.

    In published sets `None` means that the answer is missing; in somebody's own file it can be one ("Which of these?").
    """
    text = " ".join(_TEXT.sub(r"\1", gold).split()).casefold() if verifier in MATHEMATICS else ""
    return "answer not found" if published and text == "none" else _NONE.get(text)


# ---- a check by the verifier ----


@dataclass(frozen=True)
class Check:
    """Places of golds that do not equal themselves, of `asked` checked ones of a set of `of`."""

    failed: list[str]
    asked: int
    of: int

    @property
    def hopeless(self) -> bool:
        """Whether most fail: then the file has no answers, and every reward would be 0."""
        return len(self.failed) > self.asked / 2

    def __str__(self) -> str:
        spread = f" checked (of {self.of:,}, evenly spread)" if self.asked < self.of else ""
        return (
            f"{len(self.failed):,} of {self.asked:,} golds{spread} are not judged equal to themselves (first in line "
            f"{', '.join(self.failed[:3])}), so no response to them can be correct: give only the answer, or end with "
            "it in \\boxed{...} or as `#### 72`"
        )


def check(golds: Sequence[tuple[str, str]], verifier: str, most: int = FIRST) -> Check:
    """Checks (place, gold) pairs, evenly spread. Nothing fails where golds are no answers: unit tests, a target."""
    if verifiers.kind(verifier).itself is None:
        return Check([], 0, len(golds))
    sample = evenly_spaced(golds, most)
    statuses = compared([gold for _, gold in sample], verifier)
    failed = [place for (place, _), status in zip(sample, statuses, strict=True) if status not in ("correct", "text")]
    return Check(failed, len(sample), len(golds))


def evenly_spaced(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many items, evenly spaced."""
    count = min(len(items), most)
    return [items[i * len(items) // count] for i in range(count)]


def compared(golds: Sequence[str], verifier: str) -> list[str]:
    """How each gold compares with itself, within a judgement's limits: the verifier's word, or `prose`."""
    others = list(dict.fromkeys(gold for gold in golds if not _PLAIN.fullmatch(gold)))
    if not others:
        return ["correct"] * len(golds)
    with Pool(verifier) as pool:
        statuses = dict(zip(others, pool.itself(others), strict=True))
    return [_named(gold, statuses.get(gold, "correct"), verifier) for gold in golds]


def _named(gold: str, status: str, verifier: str) -> str:
    if verifier in SOLVED and not _is_object(gold) and last_boxed(f"{OPEN}{gold}}}") != gold.strip():
        return "unparsable"  # its braces do not match
    if verifier not in MATHEMATICS:  # `exact` compares sentences
        return status
    lines, words = len(gold.strip().splitlines()), len(_WORD.findall(_TEXT.sub("", gold)))
    return "prose" if (lines > 1 and "\\begin" not in gold) or words > WORDS else status


def self_check(problems: Path, verifier: str) -> dict[str, Any] | None:
    """Counts of different golds, of checked golds (`asked`), and of each way in which they equal themselves.

    None for a set without golds, and for a verifier whose golds are no answers (unit tests, a target).
    """
    golds = list(dict.fromkeys(problem.gold for problem in read_records(problems, Problem) if problem.gold))
    if verifiers.kind(verifier).itself is None or not golds:
        return None
    sample = evenly_spaced(golds, MOST)
    statuses = Counter(compared(sample, verifier))
    return {"verifier": verifier, "different": len(golds), "asked": len(sample), **dict(sorted(statuses.items()))}

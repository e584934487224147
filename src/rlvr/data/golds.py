r"""Golds: the answer in a published answer field, fields that hold none, and a check by the set's own verifier.

`read` reads them all: those of published sets (`rlvr data prepare`), of your own file (`rlvr train`, `rlvr evaluate`),
and of `rlvr grade`. A field is an answer, a list of answers, or a worked solution that ends in its answer: behind
`####` (GSM8K), in a last \boxed{...} (MATH), or in a last sentence (Minerva, MetaMath).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.records import Problem, read_records
from rlvr.suggest import shown
from rlvr.verifiers import OPEN, THOUGHT, in_one_notation, last_boxed
from rlvr.verifiers.pool import Pool

MOST = 20_000  # golds checked per set, evenly spaced: math-verify takes milliseconds for each
FIRST = 200  # golds checked before a run
WORDS = 8  # a gold of more words is a sentence, which no answer equals

# Forms of an answer field, as cards count them.
ONLY, MARKED, BOXED, STATED, SEVERAL = "the answer only", "behind ####", "in a box", "in a last sentence", "a list"
MATHEMATICS = ("math", "math_verify")  # verifiers whose golds are mathematical answers
SOLVED = (*MATHEMATICS, "choice")  # verifiers whose golds may be worked solutions

_MARKED = re.compile(r"(?:^|\s)####[ \t]*([^\s#](?:(?!####)[^\n])*?)\s*\Z")
_MINERVA = re.compile(r"final answer is:?\s*(\S.*?)[.\s]*I hope it is correct\.?\s*\Z", re.IGNORECASE | re.DOTALL)
_STATED = re.compile(  # a sentence at the end; one that says what the answer is not states none
    r"(?:\A|\n|[.!?。]\s)[\s*_]*(?:(?:so|thus|hence|therefore|and)\b,?\s*)?(?:the\s+)?(?:correct\s+|final\s+)?"
    r"answer[*_]*\s*(?:is\b\s*:?|[:\uff1a])(?![\s*_]*not\b)[\s*_]*(?=[^\s*_])((?:(?!\banswer\b)[^\n])+?)[\s.。*_]*\Z",
    re.IGNORECASE,
)
_BETWEEN_BOXES = re.compile(r"(?:[\s$,;.&]|\\[()\[\],;]|\\q?quad|\\text\s*\{\s*(?:and|or)\s*\}|\b(?:and|or)\b)*")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}|[$.]")
_PLAIN = re.compile(r"-?\d+|[A-J]")  # equal to itself for every verifier
_PROOFS = re.compile(
    r"(?:see )?(?:the |a )?proofs?"
    r"(?: (?:is |are )?(?:omitted|required|needed|provided|given|complete|above|below|by .*))?|"
    r"(?:to )?prove(?:d|n)?(?: .*)?|q ?e ?d|证明题?|证明(?:略|见解析)"
)
_MISSING = re.compile(
    r"(?:(?:the )?(?:final )?answers?(?: is| are)? )?"
    r"(?:not ?(?:found|given|provided|available|specified|stated|applicable)|unknown|omitted|missing|unavailable)|"
    r"no (?:final )?answers?(?: (?:is )?(?:found|given|provided|available|extracted))?|n ?/? ?a|null|nan|tbd|todo|\?+|"
    r"-+|(?:see|refer to) .*|略|见解析|未知"
)
_EMPTY = re.compile(r"(?:\\(?:boxed|fbox)\s*\{\s*\})?")


# ---- reading ----


class NoAnswer(ValueError):
    """A field without an answer. The message is the reason, as cards count it: `proof`, `answer not found`."""


@dataclass(frozen=True)
class Gold:
    """An answer as its verifier takes it, and the form of the field that it was read from."""

    text: str
    form: str = ONLY


def read(field: Any, verifier: str, *, published: bool = False) -> Gold:
    """The gold in an answer field: a text, a number, a list of them, or an object (unit tests).

    Several answers of mathematics become one gold with commas, a set. Reading a gold again changes nothing.

    In published sets `None` means that the answer is missing; in somebody's own file it can be one ("Which of these?").
    Raises NoAnswer for a field without an answer, such as NuminaMath's `notfound` or `Proof omitted`, and TypeError for
    a value of another type. That the verifier can read a gold is not checked here (`check_gold`).
    """
    text = text_of(field)
    if not text:
        raise NoAnswer("no answer")
    if isinstance(field, list) and len(field) > 1 and verifier not in MATHEMATICS:
        raise NoAnswer(f"several answers, and the verifier {verifier} takes one")
    gold = _read(text, verifier)
    if reason := no_answer(gold.text, verifier, published):
        raise NoAnswer(reason)
    return gold


def text_of(field: Any) -> str:
    """A field as a text without outer white space; empty if it is missing (null, NaN, an empty list).

    27, 27.0 and "27" are one answer. Several answers, and an object, are JSON. Raises TypeError for another type.
    """
    if isinstance(field, str):
        return field.strip()
    if field is None or (isinstance(field, float) and not math.isfinite(field)):
        return ""
    if isinstance(field, dict):
        return json.dumps(field)
    if isinstance(field, (int, float)) and not isinstance(field, bool):
        return str(int(field)) if field == int(field) else str(field)
    if isinstance(field, list) and not any(isinstance(one, (list, dict)) for one in field):
        answers = [answer for one in field if (answer := text_of(one))]
        return answers[0] if len(answers) == 1 else json.dumps(answers, ensure_ascii=False) if answers else ""
    raise TypeError(f"must be a text, a number, or a list of them (got {shown(field)})")


def answer_of(gold: str, verifier: str = "math") -> str:
    """The answer that a worked solution ends in. As it is: any other gold, JSON, a gold of another verifier."""
    return _read(gold, verifier).text


def _read(text: str, verifier: str) -> Gold:
    if verifier not in SOLVED or _is_object(text):
        return Gold(text)
    if text.startswith(THOUGHT):
        behind = _read(text.removeprefix(THOUGHT), verifier)
        return Gold(THOUGHT + behind.text, behind.form)
    if answers := _listed(text):
        parts = [_bare(_read(answer, verifier).text) for answer in answers]
        return Gold(", ".join(parts), SEVERAL if len(parts) > 1 else ONLY)
    marked, stated = _MARKED.search(text), _MINERVA.search(text) or _STATED.search(text)
    end = marked or stated
    answer = end[1] if end else text
    boxes = _only_boxes(answer)
    if len(boxes) > 1 and verifier in MATHEMATICS:
        return Gold(", ".join(boxes), SEVERAL)
    content = boxed(answer)
    form = MARKED if marked else STATED if stated else BOXED if content else ONLY
    return Gold(content or answer, form)


def boxed(solution: str) -> str | None:
    r"""The content of the last \boxed{...}, \fbox{...} or \boxed 5; None without a box."""
    text = in_one_notation(solution)
    bare = list(re.finditer(r"\\boxed\s+((?:[^\s{}$.,;]|[.,](?=\d))+)", text))
    braced = [match.start() for match in re.finditer(r"\\boxed\s*\{", text)]
    if bare and (not braced or bare[-1].start() > braced[-1]):
        return bare[-1].group(1)
    return last_boxed(text)


def _only_boxes(text: str) -> list[str]:
    """The contents of all boxes of a text that holds nothing else, in order; empty for any other text."""
    text, contents = in_one_notation(text), []
    while (start := text.rfind("\\boxed")) >= 0:
        box = text[start:]
        content = last_boxed(box)
        whole = content and re.match(rf"\\boxed\s*\{{\s*{re.escape(content)}\s*\}}", box)
        if not whole or not _BETWEEN_BOXES.fullmatch(box, whole.end()):
            return []
        text, contents = text[:start], [content, *contents]
    return contents if _BETWEEN_BOXES.fullmatch(text) else []


def _listed(text: str) -> list[str]:
    """The texts of a JSON list, as Skywork-OR1 and OlympiadBench publish answers; empty for any other text."""
    if not text.startswith("[") or '"' not in text:
        return []
    try:
        answers = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        return []
    return [stripped for answer in answers if (stripped := answer.strip())]


def _bare(answer: str) -> str:
    """An answer without the dollars around it. A list would have several pairs."""
    inner = answer[1:-1]
    return inner.strip() if answer.startswith("$") and answer.endswith("$") and inner and "$" not in inner else answer


def _is_object(text: str) -> bool:
    try:
        return text.lstrip().startswith("{") and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def no_answer(gold: str, verifier: str, published: bool = False) -> str | None:
    r"""Why a gold of mathematics is none: `proof`, `answer not found`, or an empty box; None for an answer."""
    if verifier not in MATHEMATICS:
        return None
    text = _TEXT.sub(r"\1", gold.removeprefix(THOUGHT)).replace("_", " ").replace(".", " ")
    text = " ".join(text.split()).casefold()
    if _PROOFS.fullmatch(text):
        return "proof"
    missing = _MISSING.fullmatch(text) or (published and text == "none")
    return "answer not found" if missing else "no answer" if _EMPTY.fullmatch(text) else None


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

"""Verifiers: is a completion's answer right? One module per verifier, with a `VerifierKind`.

A verifier's file name is its name in configuration. `judge` is pure, but may take long on a hostile answer:
`rlvr.verifiers.pool` runs it in a process that can be killed. docs/grading.md says what each verifier accepts.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from rlvr.registry import Registry

STATUSES = ("correct", "wrong", "unparsable", "truncated", "timeout", "out_of_memory", "error")

OPEN = "\\boxed{"
THINK, THOUGHT = "<think>", "</think>"

Judgement = tuple[str, str | None]
Judge = Callable[[str, str], Judgement]
Quick = Callable[[str, str], Judgement | None]


class VerifierError(RuntimeError):
    """A fault of a gold or of this machine; it is no verdict on an answer."""


def nothing(*_: object) -> None:
    """None: what a verifier does that has nothing to do."""


@dataclass(frozen=True, kw_only=True)
class VerifierKind:
    """A verifier: `judge(text, gold) -> (status, extracted)`, and what else holds for it.

    Raise `version` when a verdict changes: that repeats the grading, not the sampling. It is a text where a library
    that decides verdicts has its version in it. The functions:

    - `boxed_version` is the version of the verdicts on boxes alone, which decide a reward with `reward.box: required`;
      None if the verifier never reads an answer without a box, or every response is one.
    - `quick(text, gold)` decides easy cases at once, None for the others.
    - `reads(text)` is the part of a completion that the verdict depends on.
    - `prepare()` is called by each worker before its first question.
    - `check()` raises VerifierError if this machine lacks what the verifier needs.
    - `check_gold(gold)` raises VerifierError for a gold that it cannot read.
    - `itself(gold)` says how a gold compares with itself: `correct`, or the reason in one word; None if its golds
      are no answers.
    - `answer(gold)` is the response that a lookup gives with a gold (rlvr.data.lookup).
    - `after_think(gold)` is the gold that accepts an answer behind the response's thought alone (`behind_thought`);
      None if it looks for no thoughts.
    - `ahead(questions)` prepares for the (text, gold) that a worker in the caller's process judges next, and `close()`
      ends what it has started there.

    `isolated`: `judge` cannot hang, crash or fill memory, since what may do so has processes of its own; then a single
    worker is the caller's process. `seconds`: the limit of a judgement. `limits_memory`: the processes that it starts
    have limits of their own, and its workers none. `of_a_task`: it reads the golds of a generated task alone. `slow`:
    grading takes too long to share a cluster job with other short stages.
    """

    judge: Judge
    version: int | str
    boxed_version: int | None = None
    quick: Quick = nothing
    reads: Callable[[str], Hashable] = str
    prepare: Callable[[], None] = nothing
    check: Callable[[], object] = nothing
    check_gold: Callable[[str], None] = nothing
    itself: Callable[[str], str] | None = None
    answer: Callable[[str], str] = str
    after_think: Callable[[str], str] | None = None
    ahead: Callable[[Sequence[tuple[str, str]]], None] = nothing
    close: Callable[[], None] = nothing
    isolated: bool = False
    seconds: float = 5.0
    limits_memory: bool = False
    of_a_task: bool = False
    slow: bool = False


_SHARED = ("memory", "pool", "sandbox", "sandbox_driver", "sandbox_plain", "sandbox_zygote", "system_calls")
VERIFIERS = Registry[VerifierKind]("verifiers", "VERIFIER", but=_SHARED)
names = VERIFIERS.names


def kind(name: str) -> VerifierKind:
    """A verifier. Raises KeyError for an unknown name."""
    return VERIFIERS.load(name)


def load(name: str) -> Judge:
    """The function `judge` of a verifier."""
    return kind(name).judge


def check_golds(verifier: str, golds: Iterable[tuple[str, str]]) -> None:
    """Raise VerifierError for the first gold that the verifier cannot read; the message names gold and place."""
    for place, gold in golds:
        try:
            kind(verifier).check_gold(gold)
        except VerifierError as error:
            raise VerifierError(f"{place}: {error}") from error


# The final channel of gpt-oss: with its marks, or as a decoder writes it that leaves marks out.
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^\n]{0,80}?<\|message\|>")
_END = re.compile(r"<\|(?:return|end)\|>")
_LETTER = re.compile(r"\s*\(?[A-Ja-j]\)?\.?\s*")
_EMPTY = re.compile(r"\\boxed\s*\{\s*\}")  # behind an answer only named: put it in \boxed{}
_FILLED = re.compile(r"\\boxed\s*\{\s*[^\s}]")
_ANALYSIS, _FLATTENED = "analysis", "assistantfinal"


def in_one_notation(text: str) -> str:
    r"""A response or a solution with `\boxed` for `\fbox`; of one in channels, the last final one behind `</think>`."""
    final = _final_channel(text)
    text = (text if final is None else THOUGHT + final).replace("\\fbox", "\\boxed")
    if "\\right." in text:  # a bracket that is never closed is no brace of the box
        text = text.replace("\\left\\{", "\\left\\lbrace ").replace("\\left \\{", "\\left\\lbrace ")
    return text


def without_named_boxes(text: str) -> str:
    r"""A response in one notation, without empty boxes behind its answer: `put it in \boxed{}` only names the box."""
    text = in_one_notation(text)
    named = _EMPTY.search(text)
    return _EMPTY.sub("", text) if named and _FILLED.search(text[: named.start()]) else text


def _final_channel(text: str) -> str | None:
    marks = list(_FINAL.finditer(text)) if "<|channel|>" in text else []
    if marks:
        return _END.split(text[marks[-1].end() :])[0]
    _, mark, final = text.rpartition(_FLATTENED)
    return final if mark and text.lstrip().startswith(_ANALYSIS) else None


def behind_thought(text: str) -> str | None:
    """What follows the last </think>; None without one, or where another <think> opens behind it."""
    _, mark, answer = text.rpartition(THOUGHT)
    return answer if mark and THINK not in answer else None


def without_box(text: str) -> bool:
    r"""Whether a response has no \boxed or \fbox where its answer is: behind its thought, in its final channel.

    A response that is the letter of a choice, and nothing else, needs no box.
    """
    text = in_one_notation(text)
    if _LETTER.fullmatch(text):
        return False
    answer = behind_thought(text)
    return final_box(text if answer is None else answer) is None and final_box(text) is None


def last_boxed(text: str) -> str | None:
    r"""The content of the last closed \boxed{...}, braces matched, or None."""
    start, end = _at_the_end(text)
    if end >= 0:
        return text[start:end].strip()
    content = None
    for match in re.finditer(r"\\boxed\s*\{", text):
        end = _closing(text, match.end())
        content = text[match.end() : end].strip() if end >= 0 else content
    return content


def ends_in_open_box(text: str) -> bool:
    r"""Whether the last \boxed{ is never closed: the final answer is missing, whatever an earlier box holds."""
    last = text.rfind("\\boxed")
    opened = re.match(r"\\boxed\s*\{", text[last:]) if last >= 0 else None
    return opened is not None and _closing(text, last + opened.end()) < 0


def final_box(text: str) -> str | None:
    r"""`\boxed{...}` with the content that decides; `\boxed{` if the last is never closed; None without a box."""
    start, end = _at_the_end(text)
    if end >= 0:
        return text[start - len(OPEN) : end + 1]
    if start >= 0 or ends_in_open_box(text):
        return OPEN
    content = last_boxed(text)
    return None if content is None else f"{OPEN}{content}}}"


def _at_the_end(text: str) -> tuple[int, int]:
    r"""Start and end of the content of the last \boxed; the end is -1 if the box is never closed.

    (-1, -1) if there is no box, or no brace directly after the last \boxed: then regular expressions decide.
    """
    last = text.rfind("\\boxed")
    if last < 0 or not text.startswith("{", last + 6):
        return -1, -1
    return last + 7, _closing(text, last + 7)


def _closing(text: str, start: int) -> int:
    """Index of the brace that closes the one opened before `start`; -1 if there is none."""
    depth, end = 1, start - 1
    while depth:
        begin, end = end + 1, text.find("}", end + 1)
        if end < 0:
            return -1
        depth += text.count("{", begin, end) - 1
    return end


def settle(judgement: Judgement, finished: bool) -> Judgement:
    """The judgement; `truncated` in place of `unparsable` if the response hit the token limit."""
    status, extracted = judgement
    return ("truncated", extracted) if status == "unparsable" and not finished else (status, extracted)

r"""Mathematical answers: plain numbers at once, everything else by math-verify on a cleaned answer.

docs/grading.md lists what is decided before math-verify, and where the verdict then differs from its own. A judgement
can take without end on a hostile answer (towers of powers, huge factorials): run it in `rlvr.verifiers.pool`. Called
from a main thread without it, math-verify's own time-out of 5 seconds stands (a SIGALRM, which a main thread gets).
"""

from __future__ import annotations

import logging
import re
import threading

from rlvr.verifiers import OPEN, Judgement, final_box, last_boxed
from rlvr.verifiers._text import plain
from rlvr.verifiers.memory import remembered

VERSION = 4
LONGEST = 2_000  # characters of an answer worth parsing
REMEMBERED = 32 << 20  # bytes of answers and their verdicts, in each process
NOT_COMPARABLE = "Can't evaluate nan or zoo"  # what math-verify raises on purpose; all else that it raises is a fault
IN_A_WORKER = False  # set by `prepare`

_INTEGER = re.compile(r"[-+−]?\d+")
_VARIABLE = re.compile(
    r"(?!\\pi|\\infty|\\e(?![a-z]))\\?[a-zA-Z]+(?:_\{?\w+\}?)?(?:\s*\([^()=]*\))?'*|\\(?:text|mathrm)\{[^{}]*\}"
)
_APPROXIMATELY = re.compile(r"\\approx(?![a-zA-Z])|\\simeq(?![a-zA-Z])|≈")
_EQUALS = re.compile(r"(?<![<>!\\=])=(?!=)|\\equiv(?![a-zA-Z])")


def reads(text: str) -> str:
    r"""The last box (`\boxed{` where it is open), or the end of a text without one: what a verdict depends on."""
    box = final_box(text)
    return text[-LONGEST:] if box is None else box


def quick(text: str, gold: str) -> Judgement | None:
    """Integers and answers that are the gold's text; None where mathematics is needed."""
    box = final_box(text)
    if box is None:
        return None
    answer = box[len(OPEN) : -1]
    if answer.isdigit() and gold.isdigit() and len(answer) <= LONGEST and answer.isascii() and gold.isascii():
        return ("correct" if answer.lstrip("0") == gold.lstrip("0") else "wrong"), answer
    return _decided(box, gold)


@remembered(REMEMBERED)
def _decided(box: str, gold: str) -> Judgement | None:
    if box == OPEN:
        return "unparsable", None
    boxed = box[len(OPEN) : -1].strip()
    if len(boxed) > LONGEST:
        return "unparsable", boxed[:LONGEST]
    answer, wanted = plain(boxed), plain(gold)
    if not answer:
        return "unparsable", boxed
    if answer == wanted:
        return "correct", boxed
    if _INTEGER.fullmatch(answer) and _INTEGER.fullmatch(wanted):
        return ("correct" if _integer(answer) == _integer(wanted) else "wrong"), boxed
    return None


def _integer(text: str) -> tuple[bool, str]:
    """Sign and digits, so that a million digits are compared and never converted."""
    digits = text.lstrip("-+−").lstrip("0") or "0"
    return text[0] in "-−" and digits != "0", digits


def judge(text: str, gold: str) -> Judgement:
    """The last box, else what math-verify finds in the text; `unparsable` where it finds nothing."""
    return quick(text, gold) or _judged(reads(text), gold)


@remembered(REMEMBERED)
def _judged(read: str, gold: str) -> Judgement:
    boxed, wanted = last_boxed(read), plain(gold)
    if boxed is None:
        found = _parse(read)
        return _verdict(_parse_boxed(wanted), found), str(found[-1]) if found else None
    answers = sides(plain(boxed), wanted)
    verdicts = [_verdict(_parse_boxed(wanted), _parse_boxed(answer)) for answer in answers]
    return next((verdict for verdict in verdicts if verdict != "correct"), "correct"), boxed


def sides(answer: str, gold: str) -> list[str]:
    """What of an answer must equal the gold: of x = 5 the 5, of 2 + 3 = 5 both, of pi ~ 3.14 the exact side."""
    if not _APPROXIMATELY.search(gold):
        exact, *rounded = _APPROXIMATELY.split(answer)
        answer = rounded[-1] if rounded and _VARIABLE.fullmatch(exact.strip()) else exact
    if _EQUALS.search(gold):
        return [answer]
    first, *others = (side.strip() for side in _EQUALS.split(answer))
    named = bool(others) and _VARIABLE.fullmatch(first)
    return [side for side in (others if named else [first, *others])]


def _parse(text: str) -> list:
    from math_verify import parse  # sympy takes a second to import: not before it is needed

    return parse(text, parsing_timeout=_seconds(), raise_on_error=True)  # type: ignore[arg-type]


def _parse_boxed(answer: str) -> list:
    return _parse(f"\\boxed{{{answer}}}")


def _verdict(gold: list, answer: list) -> str:
    from math_verify import verify

    if not answer:
        return "unparsable"
    try:
        right = verify(gold, answer, timeout_seconds=_seconds(), raise_on_error=True)
    except ValueError as error:
        if str(error) != NOT_COMPARABLE:
            raise
        right = False
    return "correct" if right else "wrong"


def prepare() -> None:
    """In a worker, which has its own time limit: without math-verify's, and sympy loaded before the first question."""
    global IN_A_WORKER
    IN_A_WORKER = True
    logging.disable(logging.WARNING)  # math-verify warns once a call that its own time-out is off
    judge("\\boxed{x+1}", "1+x")


def _seconds() -> int | None:
    """math-verify's time-out, where its signal can be delivered and no pool stands guard."""
    return None if IN_A_WORKER or threading.current_thread() is not threading.main_thread() else 5

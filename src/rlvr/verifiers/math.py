r"""Mathematical answers: plain numbers at once, everything else by math-verify on a cleaned answer.

A gold that begins with `</think>` accepts an answer behind the response's thought alone (`after_think`).
docs/grading.md lists the decisions made before math-verify, and where they differ from its own. A judgement may never
end on a hostile answer (towers of powers, huge factorials): run it in `rlvr.verifiers.pool`. Without a pool,
math-verify's own time-out of 5 seconds applies in the main thread, which gets its SIGALRM.
"""

import re

from rlvr.verifiers import (
    OPEN,
    THOUGHT,
    Judgement,
    VerifierError,
    VerifierKind,
    _math_verify,
    behind_thought,
    final_box,
    last_boxed,
    without_named_boxes,
)
from rlvr.verifiers._equality import agree
from rlvr.verifiers._rewritings import undecorated
from rlvr.verifiers._statement import stated
from rlvr.verifiers._units import measure
from rlvr.verifiers.memory import remembered

VERSION = 8
LONGEST = 2_000  # characters of an answer worth parsing
REMEMBERED = 32 << 20  # bytes of answers and their verdicts, in each process

_INTEGER = re.compile(r"[-+−]?\d+")
_NO_ANSWER = re.compile(r"(?:see|refer to) .*|proof|not ?found|n/?a|nan|null|tbd|\?+", re.IGNORECASE)


def check_gold(gold: str) -> None:
    """Raise VerifierError for a gold that is too long, empty, or says that there is no answer."""
    gold = gold.removeprefix(THOUGHT)
    if len(gold) > LONGEST:
        raise VerifierError(f"a gold of more than {LONGEST:,} characters: {gold[:40]!r}...")
    if not undecorated(gold) or _NO_ANSWER.fullmatch(undecorated(gold)):
        raise VerifierError(f"not a gold of the verifier `math`, such as `5` or `\\frac{{1}}{{2}}`: {gold[:80]!r}")


def itself(gold: str) -> str:
    """How a gold compares with itself: `correct` as mathematics, `text` if only its text can be compared."""
    from math_verify.errors import TimeoutException

    answer = measure(undecorated(gold.removeprefix(THOUGHT)))[0]
    if _INTEGER.fullmatch(answer):
        return "correct"
    try:
        values = _math_verify.whole(answer)
        return "correct" if values and not isinstance(values[0], str) and _math_verify.equal(values, values) else "text"
    except TimeoutException:
        return "timeout"
    except Exception:  # a judgement counts it as an error of the library
        return "error"


def response(gold: str) -> str:
    """A response that answers with a gold."""
    thought = THOUGHT if gold.startswith(THOUGHT) else ""
    return f"{thought}{OPEN}{gold.removeprefix(THOUGHT)}}}"


def after_think(gold: str) -> str:
    return THOUGHT + gold


def reads(text: str) -> str | tuple[str | None, ...]:
    r"""The text that a verdict depends on: the last box (`\boxed{` if it is open), else the end of the text.

    Where a thought ends, also that of what follows it.
    """
    text = without_named_boxes(text)
    if THOUGHT not in text:
        return _read(text)
    answer = behind_thought(text)
    return _read(text), None if answer is None else _read(answer)


def _read(text: str) -> str:
    box = final_box(text)
    return text[-LONGEST:] if box is None else box


def quick(text: str, gold: str) -> Judgement | None:
    """The judgement of integers and of answers equal to the gold's text; None if it needs mathematics."""
    text = without_named_boxes(text)
    if gold.startswith(THOUGHT):
        answer = behind_thought(text)
        return ("unparsable", None) if answer is None else quick(answer, gold.removeprefix(THOUGHT))
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
    answer, wanted = undecorated(boxed), undecorated(gold)
    if not answer:
        return "unparsable", boxed
    if answer == wanted:
        return "correct", boxed
    if _INTEGER.fullmatch(answer) and _INTEGER.fullmatch(wanted) and "," not in boxed + gold:
        return ("correct" if _integer(answer) == _integer(wanted) else "wrong"), boxed
    return None


def _integer(text: str) -> tuple[bool, str]:
    """Sign and digits, which compare a million digits without converting them."""
    digits = text.lstrip("-+−").lstrip("0") or "0"
    return text[0] in "-−" and digits != "0", digits


def judge(text: str, gold: str) -> Judgement:
    """Judges the last box, else the answer that math-verify extracts; `unparsable` if there is none."""
    text = without_named_boxes(text)
    if gold.startswith(THOUGHT):
        answer = behind_thought(text)
        return ("unparsable", None) if answer is None else judge(answer, gold.removeprefix(THOUGHT))
    return quick(text, gold) or _judged(_read(text), gold)


@remembered(REMEMBERED)
def _judged(text: str, gold: str) -> Judgement:
    boxed = last_boxed(text)
    return _stated(text, gold) if boxed is None else _compared(boxed, gold)


def _compared(answer: str, gold: str) -> Judgement:
    return ("correct" if agree(answer, gold) else "wrong"), answer


def _stated(text: str, gold: str) -> Judgement:
    """Judges the answer that a text without a box states."""
    answer = stated(text)
    return ("unparsable", None) if answer is None else _compared(answer, gold)


def prepare() -> None:
    """Prepare a worker, which has its own time limit: turn off math-verify's, and load sympy."""
    _math_verify.in_a_worker()
    judge("\\boxed{x+1}", "1+x")


VERIFIER = VerifierKind(
    judge=judge,
    version=VERSION,
    boxed_version=VERSION,
    quick=quick,
    reads=reads,
    prepare=prepare,
    check_gold=check_gold,
    itself=itself,
    answer=response,
    after_think=after_think,
)

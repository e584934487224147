r"""The library Math-Verify as it is: it finds the answer in a whole response and compares it, by its own defaults.

The calls are those of verl's reward over it (verl/utils/reward_score/math_verify.py): a gold is read as \boxed{gold} by
`LatexExtractionConfig`, a response by `ExprExtractionConfig` and `LatexExtractionConfig`. docs/grading.md says how the
statuses come about, and where verdicts differ from those of `math`.
"""

import threading
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

from rlvr.verifiers import OPEN, Judgement, VerifierError, VerifierKind

SECONDS = 5  # the library's limit for each parse and each comparison
LIBRARIES = ("math-verify", "latex2sympy2_extended")  # both decide verdicts


def _installed(name: str) -> str:
    """The version of a library. verl's environment may train a task of our own and have neither of them."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


VERSION = "1, " + ", ".join(f"{name} {_installed(name)}" for name in LIBRARIES)


def check_gold(gold: str) -> None:
    r"""Raise VerifierError for a gold of which the library's clean-up leaves nothing: it would read none."""
    from latex2sympy2_extended.latex2sympy2 import normalize_latex
    from math_verify import LatexExtractionConfig

    if not gold.strip() or not normalize_latex(_as_answer(gold), LatexExtractionConfig().normalization_config).strip():
        raise VerifierError(_unread(gold))


def itself(gold: str) -> str:
    """How a gold compares with itself: `correct` as mathematics, `text` as text alone, `wrong` if not even so."""
    status = judge(_as_answer(gold), gold)[0]
    return "text" if status == "correct" and isinstance(_golds(gold)[0], str) else status


def judge(text: str, gold: str) -> Judgement:
    """The library's verdict; what it found in the text is the extracted answer.

    What the library catches itself it takes for no answer, or for a difference. A judgement that it stopped after
    SECONDS is a `timeout`, unless another pair of readings is equal.
    """
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, verify
    from math_verify.errors import TimeoutException

    try:
        golds = _golds(gold)
        answers = _parsed(text, (ExprExtractionConfig(), LatexExtractionConfig()))
    except TimeoutException:
        return "timeout", None
    if not golds:
        raise VerifierError(_unread(gold))
    if not answers:
        return "unparsable", None
    said, stopped = next((value for value in answers if isinstance(value, str)), None), False
    for one, other in product(golds, answers):  # as `verify` does it, which would not say what it has stopped
        try:
            if verify([one], [other], timeout_seconds=_seconds(), raise_on_error=True):
                return "correct", said
        except TimeoutException:
            stopped = True
        except (MemoryError, ImportError):
            raise
        except Exception:  # the library's own `raise_on_error=False`
            continue
    return ("timeout" if stopped else "wrong"), said


@lru_cache(maxsize=1024)  # every sample of a problem has the same gold
def _golds(gold: str) -> tuple[Any, ...]:
    from math_verify import LatexExtractionConfig

    return _parsed(_as_answer(gold), (LatexExtractionConfig(),))


def _parsed(text: str, configs: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the library reads; nothing where it fails. Raises its TimeoutException, and MemoryError."""
    from math_verify import parse

    try:
        return tuple(parse(text, configs, parsing_timeout=_seconds(), raise_on_error=True))  # type: ignore[arg-type]
    except (MemoryError, ImportError):
        raise
    except Exception:  # the library's own `raise_on_error=False`
        return ()


def _seconds() -> int | None:
    """The library's limit; None in threads, which its signal cannot reach."""
    return SECONDS if threading.current_thread() is threading.main_thread() else None


def _as_answer(gold: str) -> str:
    return f"{OPEN}{gold}}}"


def _unread(gold: str) -> str:
    return f"not a gold of the verifier `math_verify`, which finds no answer in it: {gold[:80]!r}"


def prepare() -> None:
    """Load sympy and the parser, so that no judgement counts their import."""
    judge(_as_answer("x+1"), "1+x")


VERIFIER = VerifierKind(
    judge=judge,
    version=VERSION,
    prepare=prepare,
    check_gold=check_gold,
    itself=itself,
    seconds=40.0,  # the library's limits in a row: two parses, and each of two readings against each of two
)

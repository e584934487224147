"""Exact match of the boxed answer, or of the whole completion if it has no box."""

from rlvr.verifiers import Judgement, VerifierError, VerifierKind, ends_in_open_box, last_boxed
from rlvr.verifiers._text import visible

VERSION = 2


def check_gold(gold: str) -> None:
    if not visible(gold):
        raise VerifierError(f"not a gold of the verifier `exact`, which must not be empty: {gold[:80]!r}")


def itself(gold: str) -> str:
    """How a gold compares with itself, in a box or as a whole completion, which needs no matching braces."""
    boxed = judge(f"\\boxed{{{gold}}}", gold)[0]
    return boxed if boxed == "correct" else judge(gold, gold)[0]


def judge(text: str, gold: str) -> Judgement:
    """`correct` if equal after NFKC, without invisible characters; case counts."""
    if ends_in_open_box(text):
        return "unparsable", None
    boxed = last_boxed(text)
    answer = visible(text if boxed is None else boxed)
    if not answer:
        return "unparsable", None
    return ("correct" if answer == visible(gold) else "wrong"), answer


VERIFIER = VerifierKind(judge=judge, quick=judge, version=VERSION, check_gold=check_gold, itself=itself)

"""Mathematical answers by math-verify, behind an exact match of the normalised text.

math-verify's own time-out is a SIGALRM, which fires in a main thread only: call this from a process's main
thread, as `rlvr.evaluation.grade` and the trainer do.
"""

from __future__ import annotations

from functools import lru_cache

from rlvr.verifiers import last_boxed

VERSION = 1


@lru_cache(maxsize=100_000)
def judge(text: str, gold: str) -> tuple[str, str | None]:
    extracted = last_boxed(text)
    if extracted is not None and _normal(extracted) == _normal(gold):
        return "correct", extracted
    from math_verify import parse, verify  # sympy takes a second to import: not before it is needed

    answer = parse(f"\\boxed{{{extracted}}}" if extracted is not None else text)
    if not answer:
        return "unparsable", extracted
    right = verify(parse(f"\\boxed{{{gold}}}"), answer)
    return ("correct" if right else "wrong"), extracted if extracted is not None else str(answer[-1])


def _normal(answer: str) -> str:
    return answer.strip().strip("$").replace(" ", "").rstrip(".")

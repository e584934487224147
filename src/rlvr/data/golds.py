"""A set's golds, put to the set's own verifier: is each equal to itself?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.records import Problem, read_records

MOST = 20_000  # different golds of a set that are asked, evenly spaced: math-verify takes milliseconds for each


def put_to_themselves(problems: Path, verifier: str) -> dict[str, Any] | None:
    """How many different golds there are, how many were asked, and how the verifier finds each equal to itself.

    None for a set without golds, and for a verifier whose golds are no answers (programs' tests, a target).
    """
    itself = verifiers.hook(verifier, "itself", None)
    golds = list(dict.fromkeys(problem.gold for problem in read_records(problems, Problem) if problem.gold))
    if itself is None or not golds:
        return None
    asked = [golds[i * len(golds) // min(len(golds), MOST)] for i in range(min(len(golds), MOST))]
    found = Counter(itself(gold) for gold in asked)
    return {"verifier": verifier, "different": len(golds), "asked": len(asked), **dict(sorted(found.items()))}

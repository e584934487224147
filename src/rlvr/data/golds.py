"""Checks a set's golds with its own verifier: is each gold equal to itself?"""

from collections import Counter
from pathlib import Path
from typing import Any

from rlvr import verifiers
from rlvr.records import Problem, read_records

MOST = 20_000  # golds checked per set, evenly spaced: math-verify takes milliseconds for each


def self_check(problems: Path, verifier: str) -> dict[str, Any] | None:
    """Counts of different golds, of checked golds (`asked`), and of each way in which they equal themselves.

    None for a set without golds, and for a verifier whose golds are no answers (unit tests, a target).
    """
    itself = verifiers.hook(verifier, "itself", None)
    golds = list(dict.fromkeys(problem.gold for problem in read_records(problems, Problem) if problem.gold))
    if itself is None or not golds:
        return None
    sample = [golds[i * len(golds) // min(len(golds), MOST)] for i in range(min(len(golds), MOST))]
    statuses = Counter(itself(gold) for gold in sample)
    return {"verifier": verifier, "different": len(golds), "asked": len(sample), **dict(sorted(statuses.items()))}

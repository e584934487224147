"""Plain programs: a part of Python in which a program can do nothing but compute, so that many share one sandbox.

A program is plain if it is one line, `def NAME(x): ...`, of the words in WORDS, small integers and the signs of lists
and arithmetic. So it has no attribute, import, text, exception or second function, and of Python's functions it can
name those in BUILTINS alone. It reaches no object that it did not make, leaves nothing behind,
prints nothing, and cannot change what the next program computes. It may still take long or take memory, which ends the
sandbox; then it runs alone, and those behind it share another (`rlvr.verifiers.code`). A pattern decides, since
Python's parser takes ten times as long.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from rlvr.verifiers import sandbox
from rlvr.verifiers.sandbox_plain import BETWEEN, BUILTINS, FAILED

KEYWORDS = ("return", "for", "in", "if", "else", "and", "or", "not", "pass")
WORDS = (*BUILTINS, *KEYWORDS, *"abcijknxyz")
SIGNS = r"[\[\](),:;=+\-*/%<>!]"  # no point, quote, underscore, backslash or at
LONGEST = 2_000  # characters
Run = tuple[str, str]  # a program, and the JSON of its calls: a list of lists of arguments
_BODY = re.compile(rf" ?(?:(?:{'|'.join(WORDS)})(?![a-zA-Z0-9_])|[0-9]{{1,6}}(?![0-9._])|{SIGNS}| )*+")


@lru_cache
def _opening(entry: str) -> re.Pattern[str]:
    return re.compile(rf"def {re.escape(entry)}\([a-cijknx-z](?:, [a-cijknx-z])*\):")


def is_plain(program: str, entry: str) -> bool:
    """Whether a program is one plain function of this name."""
    opening = _opening(entry).match(program) if len(program) <= LONGEST and entry not in WORDS else None
    return opening is not None and all(map(_is_plain, program[opening.end() :].split(";")))


@lru_cache(maxsize=4096)  # of LONGEST characters at most; a policy writes the same statements again and again
def _is_plain(statement: str) -> bool:
    return "**" not in statement and "<<" not in statement and _BODY.fullmatch(statement) is not None


def results(runs: Sequence[Run], entry: str, limits: sandbox.Limits) -> list[str | None]:
    """What `sandbox.run` writes for the calls of each, None for one that fails; up to one that ends the sandbox."""
    inputs = {calls: place for place, calls in enumerate(dict.fromkeys(calls for _, calls in runs))}
    request = {"entry": entry, "inputs": list(inputs), "runs": [(program, inputs[calls]) for program, calls in runs]}
    outcome = sandbox.run("", json.dumps(request).encode(), limits, plain=True)
    *lines, _ = outcome.output.decode().split("\n")  # the last one is empty, or was cut off
    return [None if line == FAILED else f"{line}\n".replace(BETWEEN, "\n") for line in lines]

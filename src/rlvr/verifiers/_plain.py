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

BUILTINS = ("abs", "len", "list", "max", "min", "range", "reversed", "sorted", "sum", "zip")
KEYWORDS = ("return", "for", "in", "if", "else", "and", "or", "not", "pass")
WORDS = (*BUILTINS, *KEYWORDS, *"abcijknxyz")
SIGNS = r"[\[\](),:;=+\-*/%<>!]"  # no point, quote, underscore, backslash or at
LONGEST = 2_000  # characters
Run = tuple[str, str]  # a program, and the JSON of its calls: a list of lists of arguments
_BODY = re.compile(rf" ?(?:(?:{'|'.join(WORDS)})(?![a-zA-Z0-9_])|[0-9]{{1,6}}(?![0-9._])|{SIGNS}| )*+")

# Runs in the sandbox as a script; writes each result at once, so that what follows takes none away. A program that
# fails has the result null; running out of memory ends the script.
HARNESS = f"""
import json as _json, marshal as _marshal, sys as _sys
_request = _json.loads(_sys.stdin.read())
_allowed = {{name: getattr(__import__("builtins"), name) for name in {BUILTINS!r}}}
_inputs = {{calls: _marshal.dumps(_json.loads(calls)) for _, calls in _request["runs"]}}
for _program, _calls in _request["runs"]:
    _names = {{"__builtins__": dict(_allowed)}}
    try:
        exec(compile(_program, "/program.py", "exec"), _names)
        _result = [_json.dumps(_names[_request["entry"]](*call)) for call in _marshal.loads(_inputs[_calls])]
    except MemoryError:
        raise
    except Exception:
        _result = None
    print(_json.dumps(_result), flush=True)
"""


@lru_cache
def _opening(entry: str) -> re.Pattern[str]:
    return re.compile(rf"def {re.escape(entry)}\([a-cijknx-z](?:, [a-cijknx-z])*\):")


def is_plain(program: str, entry: str) -> bool:
    """Whether a program is one plain function of this name."""
    opening = _opening(entry).match(program) if len(program) <= LONGEST and entry not in WORDS else None
    if opening is None or "**" in program or "<<" in program:
        return False
    return _BODY.fullmatch(program, opening.end()) is not None


def results(runs: Sequence[Run], entry: str, limits: sandbox.Limits) -> list[str | None]:
    """What `sandbox.run` writes for the calls of each, None for one that fails; up to one that ends the sandbox."""
    outcome = sandbox.run(HARNESS, json.dumps({"runs": runs, "entry": entry}).encode(), limits)
    *lines, _ = outcome.output.decode().split("\n")  # the last one is empty, or was cut off
    ended = map(json.loads, lines)
    return [None if values is None else "".join(f"{value}\n" for value in values) for values in ended]

"""Runs inside the sandbox, in one process for many plain programs (`_plain`): calls each, and writes its results.

Python's compiler would take two thirds of the time. Tiny policies write the same few statements again and again, so a
program that only gives its argument new values is called statement by statement, each compiled once, as a function of
its own. Every other program is compiled whole.
"""

import builtins
import json
import marshal
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

BUILTINS = ("abs", "len", "list", "max", "min", "range", "reversed", "sorted", "sum", "zip")
FAILED = ""  # the line of a program that fails; results are JSON, never empty
BETWEEN = "\t"  # results on a line; JSON has no tab

# x = VALUE, without another assignment, so it can change nothing but x.
_NEW_VALUE = re.compile(r" *x=(?!=)(?:[^=]|[=!<>]=)* *")


def main() -> NoReturn:
    """Write a line for each program, at once, so that what follows takes none away. Out of memory, it ends."""
    sys.set_int_max_str_digits(0)  # as `sandbox_driver`
    sys.setrecursionlimit(50_000)
    request = json.loads(sys.stdin.read())
    function = Functions(request["entry"])
    inputs = [marshal.dumps(json.loads(calls)) for calls in request["inputs"]]
    for program, place in request["runs"]:
        try:
            called = function.of(program)
            line = BETWEEN.join([as_json(called(*call)) for call in marshal.loads(inputs[place])])
        except MemoryError:
            os._exit(1)
        except Exception:
            line = FAILED
        print(line, flush=True)
    os._exit(0)


class Functions:
    """The functions of plain programs with an entry of this name; each sees only BUILTINS."""

    def __init__(self, entry: str):
        self.entry, self.opening = entry, f"def {entry}(x):"
        self._steps: dict[str, Callable | None] = {}

    def of(self, program: str) -> Callable:
        if program.startswith(self.opening):
            *statements, last = program[len(self.opening) :].split(";")
            steps = [self._step(statement) for statement in statements]
            if last.strip(" ") == "return x" and None not in steps:
                return chained(steps)  # type: ignore[arg-type]
        return self._compiled(program)

    def _step(self, statement: str) -> Callable | None:
        """A statement as a function from x to its new value; None if it is of another kind, or no Python."""
        if statement not in self._steps:
            self._steps[statement] = None
            if _NEW_VALUE.fullmatch(statement):
                with suppress(Exception):  # the whole program fails too
                    self._steps[statement] = self._compiled(f"{self.opening}{statement}; return x")
        return self._steps[statement]

    def _compiled(self, program: str) -> Callable:
        names = {"__builtins__": {name: getattr(builtins, name) for name in BUILTINS}}
        exec(compile(program, "/program.py", "exec"), names)
        return names[self.entry]  # type: ignore[return-value]


def as_json(value: object) -> str:
    """json.dumps(value), in a third of the time for a list of integers."""
    if type(value) is list and {*map(type, value)} <= {int}:
        return repr(value)
    return json.dumps(value)


def chained(steps: list[Callable]) -> Callable:
    """x -> steps[-1](...steps[0](x))."""

    def call(x: object) -> object:
        for step in steps:
            x = step(x)
        return x

    return call

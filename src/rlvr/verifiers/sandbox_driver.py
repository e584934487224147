"""Runs inside the sandbox, in one process per test: runs the program or calls its entry, and ends.

The program can do anything with this process. So the judge trusts nothing here: the driver holds no expected output and
gives no verdict.
"""

import atexit
import builtins
import functools
import gc
import json
import os
import random
import sys
import threading
import types
from decimal import Decimal
from fractions import Fraction

# The names that LiveCodeBench's runner puts before each program, in its order; the last one wins: `pow` is the
# built-in one, `copy` and `datetime` are modules. `time` and `fractions` are TACO's.
MODULES = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
)
PRELUDE = "\n".join(
    [f"from {name} import *" for name in f"{MODULES} builtins typing".split()]
    + [f"import {name}" for name in f"{MODULES} time fractions".split()]
)
SEED = 0  # of `random`; hashes of texts are fixed too, so that a program repeats its output


@functools.cache
def prelude() -> dict:
    """The names that each program starts with; the zygote loads them before the first test: 2 ms less per test."""
    builtins.exit = builtins.quit = sys.exit  # the standard library has them from `site`, which is not loaded
    names: dict = {}
    exec(PRELUDE, names)
    return names


def execute(program: str, name: str) -> dict:
    """Run the program as a module of this name, so that pickle and multiprocessing find its names; returns them."""
    module = types.ModuleType(name)
    module.__file__ = "/program.py"
    sys.modules[name] = module
    module.__dict__.update(prelude())
    exec(compile(program, "/program.py", "exec"), module.__dict__)
    return module.__dict__


def read_and_write(program: str) -> None:
    """Run the program as a script. As in LiveCodeBench its output decides, whatever its exit status."""
    try:
        execute(program, "__main__")
    except SystemExit:
        return


def call(program: str, entry: str) -> None:
    """Print the result of entry(*arguments) as a line of JSON, for each list of arguments in the input.

    `entry` may be a method of a class `Solution`, as on LeetCode. As in LiveCodeBench the program is not a script: code
    under `if __name__ == "__main__"` does not run.
    """
    calls = sys.stdin.read()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is no result
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    names = execute(program, "solution")
    owner = names.get("Solution")
    function = getattr(owner(), entry) if isinstance(owner, type) and hasattr(owner, entry) else names[entry]
    for arguments in json.loads(calls):
        print(json.dumps(function(*arguments), default=as_float), file=out)
    out.flush()


def as_float(value: object) -> float:
    """A fraction or a decimal as a float."""
    if not isinstance(value, (Decimal, Fraction)):
        raise TypeError(f"a result of type {type(value).__name__} is no JSON")
    return float(value)


def main(entry: str) -> None:
    """Run the program, and end this process as Python ends after a script. Does not return."""
    code = 1
    try:
        with open("/program.py", encoding="utf-8") as file:
            program = file.read()
        sys.argv = ["/program.py"]
        if hasattr(sys, "set_int_max_str_digits"):
            sys.set_int_max_str_digits(0)
        sys.setrecursionlimit(50_000)
        random.seed(SEED)
        if entry:
            call(program, entry)
        else:
            read_and_write(program)
        code = 0
    except SystemExit as ended:
        code = _exit_code(ended)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        _end(code, getattr(sys.modules.get("__main__"), "__dict__", {}) if not entry else {})


def _exit_code(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return (ended.code or 0) & 0xFF
    print(ended.code, file=sys.stderr)
    return 1


def _end(code: int, names: dict) -> None:
    """Wait for threads, call exit hooks, delete a script's names (their objects may write then), flush, exit.

    The interpreter's own exit would also take apart the modules loaded before the program: 5 ms per test.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        _flush(sys.stdout)
        for name in [name for name, value in names.items() if value is not prelude().get(name)]:
            names[name] = None
        gc.collect()
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    for stream in (sys.stderr, sys.stdout):
        try:
            _flush(stream)
        except BaseException:
            code = 120  # Python's own, for an output that it cannot write
    os._exit(code)


def _flush(stream: object) -> None:
    if stream is not None and not getattr(stream, "closed", False):
        stream.flush()  # type: ignore[attr-defined]

"""Runs inside the sandbox, on the system's Python alone: takes the limits on, then runs the program or calls its entry.

The program can do with this process what it likes. Nothing here is trusted by the one who judges: the driver holds no
expected output and gives no verdict.
"""

import json
import os
import resource
import sys
import types

# Names that LiveCodeBench's runner puts before each program; the built-in ones come last, for `pow`.
PRELUDE = """
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
from string import *
from collections import *
from heapq import *
from bisect import *
from math import *
from itertools import *
from functools import *
from typing import *
from builtins import *
"""


def limit(seconds: float, memory_mb: int, processes: int, files_mb: int) -> None:
    for what, value in (
        (resource.RLIMIT_STACK, 64 << 20),  # for programs that recurse deeply
        (resource.RLIMIT_AS, memory_mb << 20),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_FSIZE, files_mb << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CPU, int(seconds) + 2),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (value, value))
    with open("/proc/self/oom_score_adj", "w") as file:  # where memory runs out all the same, these go first
        file.write("1000")


def execute(program: str) -> dict:
    """Run the program as __main__, so that pickle and multiprocessing find its names; returns them."""
    module = types.ModuleType("__main__")
    module.__file__ = "/program.py"
    sys.modules["__main__"] = module
    exec(PRELUDE, module.__dict__)
    exec(compile(program, "/program.py", "exec"), module.__dict__)
    return module.__dict__


def call(program: str, entry: str) -> None:
    """Print the result of entry(*arguments) as JSON; a class `Solution` is made first, as LeetCode's tasks have it."""
    given = sys.stdin.read()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is no result
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    names = execute(program)
    owner = names.get("Solution")
    function = getattr(owner(), entry) if isinstance(owner, type) and hasattr(owner, entry) else names[entry]
    print(json.dumps(function(*json.loads(given))), file=out, flush=True)


def main() -> None:
    seconds, memory_mb, processes, files_mb, ready, entry = sys.argv[1:7]
    with open("/program.py", encoding="utf-8") as file:
        program = file.read()
    limit(float(seconds), int(memory_mb), int(processes), int(files_mb))
    os.write(int(ready), b"r")
    os.closerange(3, 64)
    sys.argv = ["/program.py"]
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(50_000)
    if entry:
        call(program, entry)
    else:
        execute(program)


main()

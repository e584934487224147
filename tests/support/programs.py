"""Completions and golds of the code verifier."""

import json
import os
import shutil

import pytest

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("CI"), reason="needs bubblewrap: apt-get install bubblewrap"
)

SECRET = "expected-7c1f93"  # the expected output of every attack: a program that writes it has got out, or guessed
FAST = {"seconds": 2.0, "memory_mb": 256}


def block(program: str) -> str:
    return f"Here it is.\n```python\n{program}\n```\n"


def stdin_gold(*tests: tuple[str, str], **more) -> str:
    return json.dumps({"kind": "stdin", "tests": [{"input": a, "output": b} for a, b in tests], **more})


def call_gold(entry: str, *tests: tuple[list, object], **more) -> str:
    listed = [{"input": a, "output": b} for a, b in tests]
    return json.dumps({"kind": "call", "entry": entry, "tests": listed, **more})


ADD = stdin_gold(("3 4\n", "7\n"), ("1 2\n", "3\n"))

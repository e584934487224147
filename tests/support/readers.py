"""A library that reads what we write, in an environment of its own: its packages are other versions of the locks'."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def read_by(requirements: list[str], folder: Path, script: str, *arguments: str) -> Any:
    """The JSON that a script prints last, run where these packages are installed; `folder` is for the environment."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    installing = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    for command in (installing, [python, "-I", "-c", script, *arguments]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])

"""Where a number came from: code, lock file, machine, time."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "envs" / "main.txt"
ENGINES = ("verl", "vllm", "ray")  # named where they are installed
PACKAGES = ("torch", "transformers", "snakemake", "math-verify", "pandas", "numpy", "scipy")


def collect() -> dict[str, Any]:
    """What does not change during a process; add seconds and seeds of your own."""
    return {
        "commit": commit(),
        "lock_sha256": hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16] if LOCK.is_file() else "no lock file",
        "packages": {name: _version(name) for name in (*PACKAGES, *filter(_installed, ENGINES))},
        "python": platform.python_version(),
        "processor": processor(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@cache
def commit() -> str:
    """The commit of the working tree, with `+changes` where tracked files differ from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"


def _git(*arguments: str) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


def _installed(package: str) -> bool:
    return _version(package) != "not installed"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

"""Says what is missing before anything is installed, a line each. Runs on the system's Python alone."""

import os
import shutil
import sys
from pathlib import Path

NEEDED_GIB = 4
ROOT = Path(__file__).resolve().parents[1]


def problems() -> list[str]:
    found = []
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs on whatever Python there is
        found.append(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: set PYTHON=python3.11")
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        found.append("the venv module is missing: apt-get install python3-venv")
    if shutil.which("git") is None:
        found.append("git is missing (results note the commit that made them): apt-get install git")
    free = shutil.disk_usage(ROOT).free / 2**30
    if not (ROOT / ".venv" / ".main").exists() and free < NEEDED_GIB:
        found.append(f"{NEEDED_GIB} GiB of disk are needed for the environment, {free:.1f} GiB are free in {ROOT}")
    if not os.access(ROOT, os.W_OK):
        found.append(f"{ROOT} is not writable")
    return found


def notes() -> list[str]:
    found = []
    if shutil.which("cc") is None:
        found.append("no C compiler: needed only where a package has no wheel for this machine: apt-get install gcc")
    if shutil.which("bwrap") is None:
        found.append("no bubblewrap: needed only to judge code, which is never run without: apt-get install bubblewrap")
    return found


if __name__ == "__main__":
    for line in problems():
        print(f"missing: {line}", file=sys.stderr)
    for line in notes():
        print(f"note: {line}", file=sys.stderr)
    sys.exit(1 if problems() else 0)

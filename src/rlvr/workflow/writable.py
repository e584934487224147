"""Whether results can be written, found out before any job is started."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rlvr.config.paths import Paths

FOLDERS = ("plan", "data", "models", "sft", "runs", "evaluations", "papers", "claims", "report", "logs")


def problem(paths: Paths) -> str | None:
    """A line that says where results cannot be written and why, or None."""
    results = Path(paths.results)
    for folder in (results, *(results / name for name in FOLDERS)):
        there = folder
        try:
            there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
            with tempfile.NamedTemporaryFile(dir=there, prefix=".written-"):
                pass
        except OSError as error:
            hint = "name another folder with --config results=FOLDER"
            return f"results={results}: cannot write in {there}: {error.strerror}; {hint}"
    return None

"""Checks that results can be written before any job starts."""

import tempfile
from pathlib import Path

from rlvr.config.paths import Paths

FOLDERS = (
    "plan",
    "data",
    "models",
    "sft",
    "runs",
    "evaluations",
    "papers",
    "claims",
    "controls",
    "mechanisms",
    "report",
    "logs",
)


def problem(paths: Paths) -> str | None:
    """A message about the first folder that cannot be written, or None."""
    results = Path(paths.results)
    for folder in (results, *(results / name for name in FOLDERS)):
        existing = folder
        try:
            existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
            with tempfile.NamedTemporaryFile(dir=existing, prefix=".written-"):
                pass
        except OSError as error:
            hint = "name another folder with --config results=FOLDER"
            return f"results={results}: cannot write in {existing}: {error.strerror}; {hint}"
    return None

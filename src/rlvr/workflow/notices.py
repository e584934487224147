"""What Snakemake says to people, without its log of jobs, in a file for the program that shows its progress.

That is its warnings, its errors but for those of single jobs, and lines that it logs with SAID.
"""

import logging
import os
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

FILE = "RLVR_NOTICES"  # environment variable: the file
SAID = {"notice": True}  # `extra` of a line that is no warning
OF_JOBS = {LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR}


def to_file(logger: logging.Logger) -> None:
    """Have a logger of Snakemake add its notices to the file of the environment, where one is asked for."""
    if os.environ.get(FILE):
        handler = logging.FileHandler(os.environ[FILE], delay=True)
        handler.addFilter(_is_notice)
        logger.addHandler(handler)


def _is_notice(record: logging.LogRecord) -> bool:
    of_job = getattr(record, "event", None) in OF_JOBS
    return getattr(record, "notice", False) or (record.levelno >= logging.WARNING and not of_job)


class Notices:
    """The file's reader; `new` gives the lines that came since the last time."""

    def __init__(self, path: Path):
        self.path, self._offset = path, 0

    def new(self) -> list[str]:
        """Whole lines that are new; none before the file is there."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                text = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._offset += len(text[0] + text[1])
        return [line for line in text[0].decode(errors="replace").splitlines() if line.strip()]

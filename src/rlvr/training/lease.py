"""A lease on a folder of resumable state: one process at a time. It needs no torch, so that commands can use it."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MARK = "fingerprint.json"  # in the folder: identifies its checkpoints
LEASE = "lease"  # in the folder; never removed, since a process may be waiting for it
PATIENCE = 15.0  # seconds that another process may take to end its work


@contextmanager
def lease(folder: Path) -> Iterator[None]:
    """Hold a folder of resumable state. The system frees it when the process dies.

    A second process on the same work waits PATIENCE seconds, since a run whose Snakemake was killed saves first; then
    it fails. As a Slurm job it waits without limit: a restarted Snakemake submits a run whose first job still trains.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LEASE, "a+") as file:
        if not _taken(file):
            file.seek(0)
            held = f"{folder} is in use by another process ({file.read().strip()})"
            print(f"{held}; waiting for it", flush=True)
            if "SLURM_JOB_ID" in os.environ:
                fcntl.flock(file, fcntl.LOCK_EX)
            elif not _taken(file, PATIENCE):
                sys.exit(held)
        file.truncate(0)
        job = os.environ.get("SLURM_JOB_ID", "none")
        file.write(f"host {os.uname().nodename}, process {os.getpid()}, job {job}")
        file.flush()
        yield


def _taken(file: IO[str], seconds: float = 0.0) -> bool:
    """Whether this process gets the lease within some seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.1)


def holder(folder: Path) -> str | None:
    """The holder of a folder: host, process and job; None if it is free."""
    try:
        with open(folder / LEASE) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two queries do not block each other
            except OSError:
                return file.read().strip() or "a process that is starting"
    except FileNotFoundError:
        pass
    return None


def is_of(mark: dict[str, Any], fingerprint: dict[str, Any]) -> bool:
    """Whether a folder's mark is this fingerprint. Old marks hold only the text of a policy's files."""

    def earlier(value: Any) -> Any:
        return str(value["files"]) if isinstance(value, dict) and value.get("files") else value

    return mark in (fingerprint, {key: earlier(value) for key, value in fingerprint.items()})

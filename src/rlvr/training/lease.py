"""A folder of resumable state: one process at a time, on what its mark says. It needs no torch, as commands ask too."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MARK = "fingerprint.json"  # in the folder: what its checkpoints are of
LEASE = "lease"  # the file in the folder; it stays when the rest is removed, since a process may be waiting for it
PATIENCE = 15.0  # seconds for the work that another process is ending


@contextmanager
def lease(folder: Path) -> Iterator[None]:
    """Hold a folder that resumable work keeps its state in. The system frees it at a kill.

    A second process on the same work waits for a moment, since a run whose Snakemake was killed saves first, and then
    fails. As a Slurm job it waits for as long as it may: a Snakemake that was started again submits a run whose first
    job still trains.
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
    """Whether the lease could be had within some seconds."""
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
    """Who holds a folder: host, process and job; None where nobody does."""
    try:
        with open(folder / LEASE) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two that ask do not see one another
            except OSError:
                return file.read().strip() or "a process that is starting"
    except FileNotFoundError:
        pass
    return None


def is_of(mark: dict[str, Any], fingerprint: dict[str, Any]) -> bool:
    """Whether a folder's mark is this fingerprint. Earlier ones had of a policy the text of its files alone."""

    def earlier(value: Any) -> Any:
        return str(value["files"]) if isinstance(value, dict) and value.get("files") else value

    return mark in (fingerprint, {key: earlier(value) for key, value in fingerprint.items()})

"""A lease on a folder of resumable state: one process at a time. It needs no torch, so that commands can use it."""

import errno
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rlvr.config import schedulers

MARK = "fingerprint.json"  # in the folder: identifies its checkpoints
LEASE = "lease"  # in the folder; never removed, since a process may be waiting for it
WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # from flock on Lustre and NFS without locks
PATIENCE = 15.0  # seconds that another process may take to end its work


@contextmanager
def lease(folder: Path) -> Iterator[None]:
    """Hold a folder of resumable state. The system frees it when the process dies.

    A second process on the same work waits PATIENCE seconds, since a run whose Snakemake was killed saves first; then
    it fails. As a job of a cluster it waits without limit: a restarted Snakemake submits a run whose first job still
    trains. On a file system without locks it fails at once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LEASE, "a+") as file:
        if not _taken(file):
            file.seek(0)
            held = f"{folder} is in use by another process ({file.read().strip()})"
            print(f"{held}; waiting for it", flush=True)
            if schedulers.job():
                fcntl.flock(file, fcntl.LOCK_EX)
            elif not _taken(file, PATIENCE):
                sys.exit(held)
        file.truncate(0)
        file.write(f"host {os.uname().nodename}, process {os.getpid()}, job {schedulers.job() or 'none'}")
        file.flush()
        yield


def _taken(file: IO[str], seconds: float = 0.0) -> bool:
    """Whether this process gets the lease within some seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            _refuse_without_locks(error, file.name)
            if time.monotonic() >= until:
                return False
            time.sleep(0.1)


def _refuse_without_locks(error: OSError, path: str) -> None:
    """Exit where the file system has no locks; any other error but "in use" is raised."""
    if error.errno in WITHOUT_LOCKS:
        mount = "mount Lustre with `-o flock`, NFS as version 4, or put the results on another file system"
        sys.exit(f"{path}: this file system cannot lock files (flock: {error.strerror}): {mount}")
    if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
        raise error


def holder(folder: Path) -> str | None:
    """The holder of a folder: host, process and job; None if it is free."""
    try:
        with open(folder / LEASE) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two queries do not block each other
            except OSError as error:
                _refuse_without_locks(error, file.name)
                return file.read().strip() or "a process that is starting"
    except FileNotFoundError:
        pass
    return None


def is_of(mark: dict[str, Any], fingerprint: dict[str, Any]) -> bool:
    """Whether a folder's mark is this fingerprint. Old marks hold only the text of a policy's files."""

    def earlier(value: Any) -> Any:
        return str(value["files"]) if isinstance(value, dict) and value.get("files") else value

    return mark in (fingerprint, {key: earlier(value) for key, value in fingerprint.items()})

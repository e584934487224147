"""What belongs to one run on a node: a folder and a token for Ray, so that jobs may share nodes.

verl names the socket that brings weights to vLLM by Ray's job id and puts it into /tmp. The job id is 01000000 in every
new Ray, so without a folder of their own two runs on one node would load each other's weights. Ray's notes of running
Rays and verl's locks are in the temporary folder, which is therefore this folder too.
"""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from rlvr.training.lock_file import LEASE, holder, lease

FOLDER = "RLVR_NODE_FOLDER"  # environment variable: this run's folder on this node, for Ray's and vLLM's processes
PLACE = Path("/tmp")  # not TMPDIR: a socket's path has at most 107 bytes, of which Ray takes 67
PREFIX = "rlvr-verl-"
YOUNG = 60.0  # seconds


def token() -> dict[str, str]:
    """The environment of a Ray that only this run can join; Ray would keep one token for all in the home folder."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@contextmanager
def own_folder() -> Iterator[Path]:
    """A new folder, the temporary one of this process and those that it starts; removed at the end."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=PLACE, ignore_cleanup_errors=True) as name, lease(Path(name)):
        os.environ.update({FOLDER: name, "TMPDIR": name})
        tempfile.tempdir = None  # read TMPDIR again
        yield Path(name)


def _remove_abandoned() -> None:
    """Remove folders of runs that were killed with their watcher, as Slurm does at a job's limit.

    A folder of the last minute stays: its run may not hold the lease yet.
    """
    for note in PLACE.glob(f"{PREFIX}*/{LEASE}"):
        with suppress(FileNotFoundError):  # another job is removing it
            old = time.time() - note.stat().st_mtime > YOUNG
            if old and os.access(note, os.W_OK) and holder(note.parent) is None:
                shutil.rmtree(note.parent, ignore_errors=True)


def in_own_folder(socket: str) -> str:
    """verl's name of a socket, `ipc:///tmp/NAME`, in this run's folder.

    A Ray that was not started for this run has no such folder, and a job id for each run.
    """
    folder = os.environ.get(FOLDER)
    return f"ipc://{folder}/{PurePath(socket).name}" if folder else socket

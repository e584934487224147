"""Processes of the rehearsal: commands with a limit that end with all that they started, and what watches them.

Standard library only: it is used before anything is unpacked.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

TO_LEAVE = 8.0  # seconds for a block's last processes, after which they are killed


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ended, so that `end_all` finds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def descendants(of: int) -> list[int]:
    """Ids of all living processes under a process, zombies left out."""
    children: dict[int, list[int]] = {}
    dead = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                children.setdefault(int(parent), []).append(int(entry.name))
                dead |= {int(entry.name)} if state == "Z" else set()
    found, queue = [], [of]
    while queue:
        queue += (more := children.get(queue.pop(), []))
        found += more
    return [process for process in found if process not in dead]


def reap() -> None:
    """Collect processes that were adopted and have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def end_all(besides: Iterable[int] = (), patience: float = TO_LEAVE) -> int:
    """Kill what is left under this process, after some patience; the number of killed processes."""
    spared, until = set(besides), time.monotonic() + patience
    while (left := set(descendants(os.getpid())) - spared) and time.monotonic() < until:
        reap()
        time.sleep(0.1)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    reap()
    return len(left)


def run(command: Sequence[str], log: Path, limit: float, env: dict[str, str] | None = None) -> int | None:
    """The exit code of a command whose output is appended to a log; None if its group was killed at the limit."""
    process = start(command, log, env)
    return wait(process, limit)


def start(command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        file.write(f"$ {' '.join(map(str, command))}\n".encode())
        file.flush()
        return subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=env, start_new_session=True
        )


def wait(process: subprocess.Popen[bytes], limit: float) -> int | None:
    try:
        return process.wait(timeout=max(limit, 0.1))
    except subprocess.TimeoutExpired:
        kill(process)
        return None


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a process, its group and all that it started in other groups, until they are gone, or some seconds."""
    started, until = descendants(process.pid), time.monotonic() + TO_LEAVE
    for child in [process.pid, *started]:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while {*started} & {*descendants(os.getpid())} and time.monotonic() < until:
        time.sleep(0.01)


class RayLogs(threading.Thread):
    """Keeps the logs of Ray's workers, whose folder is removed with its run, by second links to the files."""

    def __init__(self, out: Path):
        super().__init__(daemon=True)
        self.out, self.over = out, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            for path in Path("/tmp").glob("rlvr-verl-*/ray/session_2*/logs/*"):
                kept = self.out / f"{path.parts[2]}.{path.name}"
                if path.suffix in (".err", ".out", ".log") and not kept.exists():
                    self.out.mkdir(parents=True, exist_ok=True)
                    with suppress(OSError):
                        os.link(path, kept)


class GpuMemory(threading.Thread):
    """The largest used memory of the GPU in MiB, two times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self.process = 0, None
        if shutil.which("nvidia-smi"):
            query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-lms", "500"]
            self.process = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self) -> None:
        for line in (self.process.stdout or []) if self.process else []:
            with suppress(ValueError):
                self.largest = max(self.largest, int(line.split()[0]))

    def take(self) -> int:
        """The largest value since the last call."""
        largest, self.largest = self.largest, 0
        return largest

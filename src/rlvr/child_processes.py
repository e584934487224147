"""Processes that end with the one that started them, even if SIGKILL killed that one before it could clean up.

A process that outlives its stage holds a core or a GPU until somebody finds it. After SIGKILL only the kernel and other
processes can clean up, so each kind of offspring has its own way. This module imports nothing of the package, since the
watcher runs only this file.
"""

import ctypes
import multiprocessing
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

CALLER = "RLVR_CALLER"  # environment variable: the process that started this stage, in the form of `named`
LOOK_EVERY = 0.5  # seconds between looks at an awaited process
TO_SAVE = 300.0  # seconds between SIGTERM and SIGKILL to a stage without caller
TO_LEAVE = 2.0  # seconds for offspring to end before the watcher kills it
TO_KILL = 60.0  # seconds for which the watcher tries

_LIBC = ctypes.CDLL(None)  # loaded here, since `die_with_parent` runs between fork and exec
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
_ENDLESS = 1 << 61  # microseconds, 73,000 years


# ---- children that the package starts ----


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent ends; with the parent's id, also if it has ended already."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def tied() -> Callable[[], None]:
    """A `preexec_fn` for a child that dies with its starting thread; start it from the main thread."""
    return partial(die_with_parent, os.getpid())


def die_with_caller() -> None:
    """Make a worker of multiprocessing's forkserver die with the process that started it.

    A worker's parent is the forkserver, which ends when no process holds the pipe to it. Every worker inherits an end
    of the pipe: one that computes forever would keep the forkserver, and so itself, alive. A thread that watches the
    caller would not help: a computation may never release the interpreter's lock.
    """
    die_with_parent()
    server: Any = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    caller = multiprocessing.parent_process()
    if caller is not None and not caller.is_alive():  # it ended before this function began
        os._exit(1)


# ---- processes that a library starts ----


@cache
def leave_no_orphans(folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a watcher that kills all later descendants of this process, however it ends, and then removes the folder.

    Descendants carry a mark that each child inherits: a soft limit on the time of real-time processes, a random number
    of millennia. Other marks get lost: a parent's id if a process in between ends, a session or group if a process
    opens its own, the environment if a process changes its title (setproctitle, as in vLLM and Ray, overwrites it).
    """
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    mark = _ENDLESS + secrets.randbelow(_ENDLESS) if hard == resource.RLIM_INFINITY else hard - secrets.randbelow(hard)
    watcher = subprocess.Popen(
        [*command, str(mark), *([str(folder)] if folder else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # else a reader of the stage's output would wait for the watcher
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    resource.setrlimit(resource.RLIMIT_RTTIME, (mark, hard))
    return watcher


def _watch(parent: int, mark: int, folders: list[str]) -> None:
    """Wait for the parent's end, kill processes with the mark until there are none, and remove the folders."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a stage goes on for a while after these, to save
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    ended = time.monotonic()
    while any(_marked(mark)) and time.monotonic() < ended + TO_LEAVE:
        time.sleep(0.1)
    looks_in_vain = 0
    while looks_in_vain < 2 and time.monotonic() < ended + TO_KILL:  # twice: it may fork while the list is read
        pids = list(_marked(mark))
        looks_in_vain = 0 if pids else looks_in_vain + 1
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _marked(mark: int) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError):
                with open(f"/proc/{name}/limits") as file:
                    soft = next((line.split()[3] for line in file if line.startswith("Max realtime timeout")), "")
                if soft == str(mark) and began(int(name)):
                    yield int(name)


# ---- a stage and its caller ----


def named() -> str:
    """RLVR_CALLER for children of this process: machine, namespace of process ids, id and start time."""
    return " ".join([*machine(), str(os.getpid()), began(os.getpid())])


def end_with_caller() -> None:
    """End this process with the one that RLVR_CALLER names; at once if that has ended already.

    A name from another machine or container has no effect.
    """
    if sys.platform != "linux":
        return
    *where, pid, start = [*[""] * 4, *os.environ.get(CALLER, "").split()][-4:]
    if tuple(where) != machine():
        return
    if began(int(pid)) != start:
        sys.exit(f"process {pid}, which started this stage, is gone: nothing was started")
    ends_with(int(pid))


def machine() -> tuple[str, str]:
    """The boot and the namespace in which process ids are valid."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip(), os.readlink("/proc/self/ns/pid")


def ends_with(pid: int, to_save: float = TO_SAVE) -> None:
    """When the process `pid` ends, send this one SIGTERM, and SIGKILL `to_save` seconds later.

    On SIGTERM a trainer saves and stops "to be continued".
    """
    threading.Thread(target=_follow, args=(pid, began(pid), to_save), daemon=True).start()


def _follow(pid: int, start: str, to_save: float) -> None:
    while start and began(pid) == start:
        time.sleep(LOOK_EVERY)
    print(f"process {pid}, which started this stage, is gone: stopping", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(to_save)
    os.kill(os.getpid(), signal.SIGKILL)


def began(pid: int) -> str:
    """A process's start in ticks since boot, which with its id is unique; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


if __name__ == "__main__":
    _watch(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

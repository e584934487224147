"""A Python program that nobody trusts, run by bubblewrap: no network, no files, no other processes, and hard limits.

The program sees an empty file system with a read-only /usr, its own text, a standard input, and nothing else: no
environment, no network, no expected output. Time, memory, processes, files and output are limited; whatever it does,
what comes back is what it wrote and how it ended. Where bubblewrap is missing nothing is run.

There are two sandboxes, one in the other. A program can do what it likes to the init of its own, which is a process of
the same user without privileges: trace it, write its memory, have it outlive its parent. The outer one's init is in a
process namespace that the program cannot see; when it ends, the kernel ends all that is in it. `system_calls` takes
from the program what no limit counts: shared memory, sockets, keys, and the like.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TextIO

import psutil

from rlvr.verifiers import VerifierError, system_calls

DRIVER = Path(__file__).with_name("sandbox_driver.py")
NOBODY = 65534
FIRST_USER = 200_000
PR_SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>
LOOK_EVERY = 0.1  # seconds between looks at the memory and the number of all processes of a program
OF_BUBBLEWRAP = 4  # processes of a run that are bubblewrap's own
ERRORS_KEPT = 4_096  # bytes of the standard error
PYTHON_ALONE = ("-I", "-S", "-B", "-X", "utf8")  # no variables, no user folder, the standard library alone, no bytecode
INSTALL = "install it (Debian, Ubuntu: apt-get install bubblewrap); code is never run without it"


class SandboxUnavailable(VerifierError):
    """There is no sandbox on this machine; the message says what to install or to allow."""


@dataclass(frozen=True)
class Limits:
    """What one run of a program may use."""

    seconds: float = 6.0  # of the CPU, all processes together; LiveCodeBench's limit a test
    memory_mb: int = 512  # address space of a process, and resident memory of all together
    processes: int = 16  # threads count as processes
    files_mb: int = 16  # of a file, and of all files in /tmp
    output_mb: int = 8  # of the standard output

    @property
    def clock(self) -> float:
        """Seconds on the clock, for a program that waits; more, so that a busy machine changes no verdict."""
        return 2 * self.seconds + 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `stopped` is empty, or which limit ended it: time, memory, processes or output."""

    output: bytes
    errors: str
    code: int | None
    stopped: str


def check() -> None:
    """Raise SandboxUnavailable, with the reason, where a program cannot be run in a sandbox."""
    _check(os.environ.get("PATH", ""))


@cache
def _check(_path: str) -> None:
    if sys.platform != "linux":
        raise SandboxUnavailable(f"code is run in bubblewrap, which {sys.platform} does not have; use Linux")
    if shutil.which("bwrap") is None:
        raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed: {INSTALL}")
    try:
        outcome = run("print('ready')", b"")
    except SandboxUnavailable as error:
        hint = "is it version 0.8 or newer, are user namespaces allowed?"
        raise SandboxUnavailable(f"bubblewrap does not work on this machine ({hint}): {error}") from error
    if outcome.output != b"ready\n":
        raise SandboxUnavailable(f"Python does not work in the sandbox: {outcome.errors.strip()[-300:]}")


def run(program: str, given: bytes, limits: Limits | None = None, *, entry: str = "") -> Outcome:
    """Run a program on a standard input; with `entry`, call that function on the JSON list that is given.

    A call's output is its result as JSON, on a line of its own, and nothing that the program prints. Raises
    SandboxUnavailable where the sandbox could not be set up, tried twice: that is no verdict on a program.
    """
    for last in (False, True):
        outcome, started = _run_once(program, given, limits or Limits(), entry)
        if started:
            return outcome
        if last:
            why = (
                outcome.errors.strip()[-300:] or f"it ended with {outcome.code}, stopped by {outcome.stopped or 'none'}"
            )
            raise SandboxUnavailable(f"bubblewrap could not set a sandbox up: {why}")
        time.sleep(0.2)
    raise AssertionError("unreachable")


def _run_once(program: str, given: bytes, limits: Limits, entry: str) -> tuple[Outcome, bool]:
    """How it ended, and whether the driver was reached: it says so before it runs the program."""
    text_fd, given_fd = _sealed("program", program.encode("utf-8", "replace")), _sealed("given", given)
    driver_fd, filter_fd = os.open(DRIVER, os.O_RDONLY), _sealed("filter", system_calls.filter_program())
    (info_out, info_in), (ready_out, ready_in) = os.pipe(), os.pipe()
    inherited = (text_fd, driver_fd, filter_fd, info_in, ready_in)
    try:
        command = _command(text_fd, driver_fd, filter_fd, info_in, ready_in, limits, entry)
        pipes = {"stdin": given_fd, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, **pipes, pass_fds=inherited, env={}, cwd="/", **_caller())
    except OSError as error:
        os.close(info_out)
        os.close(ready_out)
        raise SandboxUnavailable(
            f"bubblewrap (bwrap) cannot be started: {error}; it needs to be readable for other users than root, and "
            f"root needs user ids from {FIRST_USER} on; where it is missing, {INSTALL}"
        ) from error
    finally:
        for fd in (*inherited, given_fd):
            os.close(fd)
    with process, os.fdopen(info_out) as info, os.fdopen(ready_out, "rb") as ready:
        try:
            outcome = _watch(process, limits)
        finally:
            _end(process, info)
        return outcome, ready.read(1) == b"r"


def _end(process: subprocess.Popen, info: TextIO) -> None:
    """End the outer sandbox's init, with which the kernel ends everything in it, and wait until it is gone."""
    process.kill()
    process.wait()
    try:
        init = int(json.loads(info.read())["child-pid"])
        os.kill(init, signal.SIGKILL)
        os.waitpid(init, 0)  # where this process adopts it (`adopt`): no zombie stays
    except (ValueError, KeyError, ProcessLookupError, ChildProcessError):
        return


def adopt() -> None:
    """Let orphans become children of this process, so that none stays a zombie where the system has no init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _command(program: int, driver: int, filters: int, info: int, ready: int, limits: Limits, entry: str) -> list[str]:
    bwrap = shutil.which("bwrap") or "bwrap"
    command = [bwrap, "--unshare-user", "--unshare-pid", "--die-with-parent", "--info-fd", str(info)]
    command += ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--"]
    command += [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    command += ["--clearenv", "--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox"]
    command += [*_system(), "--proc", "/proc", "--dev", "/dev", "--seccomp", str(filters)]
    for folder in ("/tmp", "/dev/shm"):
        command += ["--size", str(limits.files_mb << 20), "--tmpfs", folder]
    command += ["--ro-bind-data", str(program), "/program.py", "--ro-bind-data", str(driver), "/driver.py"]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
    command += ["--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", _interpreter(), *PYTHON_ALONE]
    numbers = (limits.seconds, limits.memory_mb, limits.processes, limits.files_mb, ready)
    return [*command, "/driver.py", *map(str, numbers), entry]


@cache
def _system() -> tuple[str, ...]:
    """Options that show the system's libraries, read-only: /usr, and what stands beside it or points into it."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("/lib", "/lib64", "/bin"):
        if Path(name).is_symlink():
            options += ["--symlink", os.readlink(name), name]
        elif Path(name).is_dir():
            options += ["--ro-bind", name, name]
    python = _interpreter()
    for local in ("/usr/local", "/usr/src"):  # what a site put there is nobody's business
        if Path(local).is_dir() and not python.startswith(local):
            options += ["--tmpfs", local]
    if not python.startswith("/usr/"):
        options += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return tuple(options)


@cache
def _interpreter() -> str:
    """The system's Python, so that a home folder need not be shown; else the one that runs this."""
    for path in (Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        if path.exists():
            return str(path)
    return os.path.realpath(sys.executable)


def _caller() -> dict:
    """Root calls as a user of its own: a limit on processes does not bind root, and users cannot signal each other."""
    if os.geteuid() != 0:
        return {}
    user = FIRST_USER + os.getpid() % 1_000_000
    return {"user": user, "group": user, "extra_groups": []}


def _sealed(name: str, data: bytes) -> int:
    """A file in memory that nobody can change."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd


def _watch(process: subprocess.Popen, limits: Limits) -> Outcome:
    """Read what a program writes until it ends or a limit does; a process that it leaves behind does not count."""
    assert process.stdout is not None and process.stderr is not None
    began = time.monotonic()
    deadline, look_at = began + limits.clock, began + LOOK_EVERY
    parts: list[bytes] = []
    errors, size = b"", 0
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        stopped = ""
        while not stopped:
            ended = process.poll() is not None  # asked before the pipes are read, so that nothing written is missed
            for key, _ in selector.select(0 if ended else min(0.02, LOOK_EVERY)):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    parts.append(chunk)
                    size += len(chunk)
                else:
                    errors = (errors + chunk)[-ERRORS_KEPT:]
            now = time.monotonic()
            if size > limits.output_mb << 20:
                stopped = "output"
            elif ended and not selector.select(0):
                break
            elif now > deadline:
                stopped = "time"
            elif now > look_at and not ended:
                look_at, stopped = now + LOOK_EVERY, _over(process.pid, limits)
    return Outcome(b"".join(parts), errors.decode("utf-8", "replace"), process.poll(), stopped)


def _over(pid: int, limits: Limits) -> str:
    """Which limit all processes of a program together are over, if any."""
    memory, count, seconds = 0, 0, 0.0
    try:
        for child in psutil.Process(pid).children(recursive=True):
            try:
                memory, count = memory + child.memory_info().rss, count + 1
                used = child.cpu_times()
                seconds += used.user + used.system + used.children_user + used.children_system
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        return ""
    if count > limits.processes + OF_BUBBLEWRAP:
        return "processes"
    return "memory" if memory > limits.memory_mb << 20 else "time" if seconds > limits.seconds else ""

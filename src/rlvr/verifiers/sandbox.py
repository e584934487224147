"""A Python program that nobody trusts, run by bubblewrap: no network, no files, no other processes, and hard limits.

The program sees an empty file system with a read-only /usr, its own text, a standard input, and nothing else: no
environment, no network, no expected output. Time, memory, processes, files and output are limited; whatever it does,
what comes back is what it wrote and how it ended. Where bubblewrap is missing nothing is run.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from rlvr.verifiers import VerifierError

DRIVER = Path(__file__).with_name("sandbox_driver.py")
NOBODY = 65534
LOOK_EVERY = 0.1  # seconds between looks at the memory and the number of all processes of a program
ERRORS_KEPT = 4_096  # bytes of the standard error
INSTALL = "install it (Debian, Ubuntu: apt-get install bubblewrap); code is never run without it"


class SandboxUnavailable(VerifierError):
    """There is no sandbox on this machine; the message says what to install or to allow."""


@dataclass(frozen=True)
class Limits:
    """What one run of a program may use."""

    seconds: float = 6.0  # on the clock, and of each process's CPU; LiveCodeBench's limit a test
    memory_mb: int = 512  # address space of a process, and resident memory of all together
    processes: int = 16  # threads count as processes
    files_mb: int = 16  # of a file, and of all files in /tmp
    output_mb: int = 8  # of the standard output


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
    outcome = run("print('ready')", b"")
    if outcome.output != b"ready\n":
        raise SandboxUnavailable(
            "bubblewrap does not work on this machine (is it version 0.8 or newer, are user namespaces allowed?): "
            + outcome.errors.strip()[-300:]
        )


def run(program: str, given: bytes, limits: Limits | None = None, *, entry: str = "") -> Outcome:
    """Run a program on a standard input; with `entry`, call that function on the JSON list that is given.

    A call's output is its result as JSON, on a line of its own, and nothing that the program prints.
    """
    limits = limits or Limits()
    text_fd, given_fd = _sealed("program", program.encode("utf-8", "replace")), _sealed("given", given)
    driver_fd = os.open(DRIVER, os.O_RDONLY)
    try:
        process = subprocess.Popen(
            _command(text_fd, driver_fd, limits, entry),
            stdin=given_fd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(text_fd, driver_fd),
            env={},
            cwd="/",
            **_caller(),
        )
    except OSError as error:
        raise SandboxUnavailable(f"bubblewrap (bwrap) cannot be started: {error}; {INSTALL}") from error
    finally:
        for fd in (text_fd, given_fd, driver_fd):
            os.close(fd)
    with process:
        try:
            return _watch(process, limits)
        finally:
            process.kill()  # the sandbox dies with its parent, and all of its processes with it


def _command(program: int, driver: int, limits: Limits, entry: str) -> list[str]:
    bwrap = shutil.which("bwrap") or "bwrap"
    command = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    command += ["--clearenv", "--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox"]
    command += [*_system(), "--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm"):
        command += ["--size", str(limits.files_mb << 20), "--tmpfs", folder]
    command += ["--ro-bind-data", str(program), "/program.py", "--ro-bind-data", str(driver), "/driver.py"]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
    # -I: no variables and no user folder; -B: no bytecode.
    command += ["--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", _interpreter(), "-I", "-B", "-X", "utf8"]
    numbers = (limits.seconds, limits.memory_mb, limits.processes, limits.files_mb)
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
    if not _interpreter().startswith("/usr/"):
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
    user = 200_000 + os.getpid() % 1_000_000
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
    deadline, look_at = began + limits.seconds, began + LOOK_EVERY
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
    memory, count = 0, 0
    try:
        for child in psutil.Process(pid).children(recursive=True):
            try:
                memory, count = memory + child.memory_info().rss, count + 1
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        return ""
    # Two processes are bubblewrap's own.
    return "memory" if memory > limits.memory_mb << 20 else "processes" if count > limits.processes + 2 else ""

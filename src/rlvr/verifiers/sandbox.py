"""Runs an untrusted Python program in bubblewrap: no network, no files, no other processes, and hard limits.

The program sees a read-only system, its own text and a standard input, but no environment, no network and no expected
output. Time, memory, processes, files and output are limited. The caller gets the output and how the program ended.
Without bubblewrap nothing runs.

There are two sandboxes, one in the other. The outer one is bubblewrap's. It lives as long as the thread that judges,
and holds one trusted process, the zygote (`sandbox_zygote`): an interpreter with everything imported. It forks an inner
sandbox with its own namespaces for each test, and watches it. So isolation costs 2 ms per test, and Python's start
nothing. The program cannot see the zygote. When the zygote ends, the kernel ends everything in the outer sandbox.
`system_calls` allows the calls that programs need, and no others.

Input and output are files and pipes of this process, which reads and compares; the zygote only hands them on. A lost
zygote is replaced and the test runs again.
"""

import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from io import FileIO
from pathlib import Path
from typing import TextIO

from rlvr.verifiers import VerifierError, system_calls

ZYGOTE = "rlvr.verifiers.sandbox_zygote"
INSIDE = ("sandbox_zygote.py", "sandbox_driver.py", "sandbox_plain.py")  # of the files here only these run in it
NOBODY = 65534
FIRST_USER = 200_000
PR_SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>
LONGEST = 10  # times the limit on the clock, for a test that waits for the CPU
TO_START = 60.0  # seconds for a zygote to start, or to report a test's end after its limit
ERRORS_KEPT = 4_096  # last bytes of the standard error
# No user folder, only the standard library, no bytecode, no folder of the script; fixed hashes.
PYTHON_ALONE = ("-s", "-S", "-B", "-P", "-X", "utf8")
ENVIRONMENT = {"PATH": "/usr/bin", "HOME": "/tmp", "PYTHONHASHSEED": "0", "PYTHONPATH": "/judge"}
INSTALL = (
    "install it (Debian, Ubuntu: apt-get install bubblewrap; without root: make install-bubblewrap); "
    "code is never run without it"
)


class SandboxUnavailable(VerifierError):
    """This machine cannot run the sandbox; the message says what to install or allow."""


class _Lost(Exception):
    """The zygote ended, or could not begin the test: no verdict on a program. The message says why."""


@dataclass(frozen=True)
class Limits:
    """Limits on one run of a program."""

    seconds: float = 6.0  # of CPU time, all processes together; LiveCodeBench's limit per test
    memory_mb: int = 512  # address space per process, and memory of all processes
    processes: int = 16  # threads count as processes
    files_mb: int = 16  # per file, and of all files
    output_mb: int = 8  # of the standard output

    @property
    def clock(self) -> float:
        """Seconds on the clock, for a program that waits; time in which it waits for a CPU does not count."""
        return 2 * self.seconds + 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `stopped` names the limit that ended it (time, memory or output), else it is empty."""

    output: bytes
    errors: str
    code: int | None
    stopped: str
    seconds: float = field(default=0.0, compare=False)  # of CPU time, its start included


def check() -> str:
    """The Python that judges, as "3.11.2 (/usr/bin/python3.11)".

    Raises SandboxUnavailable, with the reason, if no program can run in a sandbox.
    """
    return _check(os.environ.get("PATH", ""))


@cache
def _check(_path: str) -> str:
    if sys.platform != "linux":
        raise SandboxUnavailable(f"code is run in bubblewrap, which {sys.platform} does not have; use Linux")
    if shutil.which("bwrap") is None:
        raise SandboxUnavailable(f"bubblewrap (bwrap) is not installed: {INSTALL}")
    try:
        outcome = run("print('ready')", b"")
        python = _zygote().python
    except SandboxUnavailable as error:
        hint = "is it version 0.8 or newer, is the kernel 5.8 or newer, are user namespaces allowed?"
        raise SandboxUnavailable(f"bubblewrap does not work on this machine ({hint}): {error}") from error
    finally:
        close()  # often other processes judge
    if outcome.output != b"ready\n":
        raise SandboxUnavailable(f"Python does not work in the sandbox: {outcome.errors.strip()[-300:]}")
    return f"{python} ({interpreter()})"


def run(program: str, stdin: bytes, limits: Limits | None = None, *, entry: str = "", plain: bool = False) -> Outcome:
    """Run a program on a standard input; with `entry`, call that function on each list of a JSON list.

    The output of calls is a line of JSON for each result, without what the program prints. With `plain` the input
    holds the programs (`sandbox_plain`). Raises SandboxUnavailable if the sandbox fails twice to start: that is no
    verdict on a program.
    """
    for last in (False, True):
        try:
            return _zygote().run(program, stdin, limits or Limits(), {"entry": entry, "plain": plain})
        except _Lost as error:
            close()
            if last:
                raise SandboxUnavailable(f"bubblewrap could not set a sandbox up: {error}") from error
            time.sleep(0.2)
        except BaseException:  # else the next run would read this run's answer
            close()
            raise
    raise AssertionError("unreachable")


# ---- the zygote of a thread ----------------------------------------------------------------------

_thread = threading.local()  # .zygote: a sandbox ends with the thread that started it (--die-with-parent)


def _zygote() -> "_Zygote":
    """This thread's zygote, started if there is none."""
    if getattr(_thread, "zygote", None) is None:
        _thread.zygote = _Zygote()
    return _thread.zygote


def close() -> None:
    """End this thread's zygote, if there is one; the next run starts another."""
    zygote, _thread.zygote = getattr(_thread, "zygote", None), None
    if zygote is not None:
        zygote.close()


def _forget() -> None:
    """Drop the zygote in a fork of this process: it belongs to the parent."""
    if getattr(_thread, "zygote", None) is not None:
        _thread.zygote.channel.close()
        _thread.zygote = None


os.register_at_fork(after_in_child=_forget)


class _Zygote:
    """An outer sandbox with its zygote, which reports its Python version when it starts."""

    def __init__(self) -> None:
        filters = _sealed("filter", system_calls.filter_program())
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        scripts = [os.open(Path(__file__).with_name(name), os.O_RDONLY) for name in INSIDE]
        info_out, info_in = os.pipe()
        stdin = _sealed("stdin", b"")  # the same kinds of files as a test's, since Python opens them at its start
        inherited = (theirs.fileno(), filters, info_in, *scripts)
        try:
            command = _command(theirs.fileno(), filters, info_in, scripts)
            pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            self.process = subprocess.Popen(command, **pipes, pass_fds=inherited, env={}, cwd="/", **_caller())
        except OSError as error:
            os.close(info_out)
            self.channel.close()
            raise SandboxUnavailable(
                f"bubblewrap (bwrap) cannot be started: {error}; other users than root must be able to read it, "
                f"and root needs user ids from {FIRST_USER} on; if it is missing, {INSTALL}"
            ) from error
        finally:
            theirs.close()
            for fd in (filters, info_in, stdin, *scripts):
                os.close(fd)
        info = os.fdopen(info_out)
        self.close = weakref.finalize(self, _end, os.getpid(), self.process, self.channel, info)
        try:
            self.channel.settimeout(TO_START)
            self.python = self._answer()["python"]
        except BaseException:
            self.close()
            raise

    def run(self, program: str, stdin: bytes, limits: Limits, driver: dict) -> Outcome:
        """Run one test. Raises _Lost if it could not begin, or if its end is unknown."""
        clock = {"clock": limits.clock, "longest": LONGEST * limits.clock}
        request = json.dumps({**vars(limits), **clock, **driver}).encode()
        text_fd, stdin_fd = _sealed("program", program.encode("utf-8", "replace")), _sealed("stdin", stdin)
        (output, output_in), (errors, errors_in) = os.pipe(), os.pipe()
        sent = [text_fd, stdin_fd, output_in, errors_in]
        with os.fdopen(output, "rb", 0) as out, os.fdopen(errors, "rb", 0) as err:
            try:
                for fd in (output_in, errors_in) if os.geteuid() == 0 else ():
                    os.fchown(fd, _user(), _user())  # so that a program can open /dev/stdout
                self._send(request, sent)
            finally:
                for fd in sent:
                    os.close(fd)
            return self._read(out, err, limits)

    def _read(self, out: FileIO, err: FileIO, limits: Limits) -> Outcome:
        """Read a program's output until the zygote reports its end."""
        parts: list[bytes] = []
        errors, size, stopped = b"", 0, ""
        deadline = time.monotonic() + LONGEST * limits.clock + TO_START
        with selectors.DefaultSelector() as selector:
            for stream in (out, err, self.channel):
                selector.register(stream, selectors.EVENT_READ)
            answer: dict | None = None
            while answer is None or len(selector.get_map()) > 0:
                # After the answer no writer is left: the pipes end.
                for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                    if key.fileobj is self.channel:
                        answer = self._answer()
                        selector.unregister(self.channel)
                    elif not (chunk := os.read(key.fd, 1 << 16)):
                        selector.unregister(key.fileobj)
                    elif key.fileobj is err:
                        errors = (errors + chunk)[-ERRORS_KEPT:]
                    elif not stopped:
                        parts.append(chunk)
                        size += len(chunk)
                if size > limits.output_mb << 20 and not stopped:
                    stopped = "output"
                    if answer is None:
                        self._send(b"stop")
                if time.monotonic() > deadline:
                    raise _Lost("it did not say how a program ended")
        if answer["failed"]:
            raise _Lost(answer["failed"])
        stopped = stopped or answer["stopped"]
        return Outcome(b"".join(parts), errors.decode("utf-8", "replace"), answer["code"], stopped, answer["seconds"])

    def _send(self, message: bytes, files: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self.channel, [message], files)
        except OSError as error:
            raise _Lost(self._why()) from error

    def _answer(self) -> dict:
        try:
            answer = self.channel.recv(1 << 16)
        except OSError as error:
            raise _Lost(f"no answer: {error}") from error
        if not answer:
            raise _Lost(self._why())
        return json.loads(answer)

    def _why(self) -> str:
        """The zygote's last words, or its exit status."""
        assert self.process.stderr is not None
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        os.set_blocking(self.process.stderr.fileno(), False)
        message = self.process.stderr.read() or b""
        return message.decode("utf-8", "replace").strip()[-300:] or f"it ended with {self.process.poll()}"


def _end(owner: int, process: subprocess.Popen, channel: socket.socket, info: TextIO) -> None:
    """End the outer sandbox's first process, with which the kernel ends everything in it, and wait until it is gone."""
    channel.close()
    if os.getpid() != owner:
        return
    alive = process.poll() is None  # else its child is gone too, and its id may be another's by now
    process.kill()
    process.wait()
    with info, suppress(ValueError, KeyError, ProcessLookupError, ChildProcessError):
        zygote = int(json.loads(info.read())["child-pid"])
        if alive:
            os.kill(zygote, signal.SIGKILL)
        os.waitpid(zygote, 0)  # leaves no zombie where this process adopts it (`adopt`)
    process.communicate()


def adopt() -> None:
    """Make this process the parent of orphans, so that none stays a zombie on a system without init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# ---- the outer sandbox ---------------------------------------------------------------------------


def _command(channel: int, filters: int, info: int, scripts: Sequence[int]) -> list[str]:
    """bwrap's command line: a read-only system, with /tmp and /proc for each test's own mounts."""
    command = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--unshare-user", "--as-pid-1", "--die-with-parent"]
    command += ["--new-session", "--clearenv", "--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    command += ["--hostname", "sandbox", "--info-fd", str(info), *_system(), "--proc", "/proc", "--dir", "/tmp"]
    for name in ("null", "random", "urandom"):  # not zero: no process shows the memory of its shared mapping
        command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        command += ["--symlink", f"/proc/self/fd{target}", f"/dev/{name}"]
    command += ["--symlink", "/tmp", "/dev/shm", "--symlink", "/tmp/.program.py", "/program.py"]
    command += ["--ro-bind-data", str(filters), "/judge/filter"]
    for name, fd in zip(INSIDE, scripts, strict=True):
        command += ["--ro-bind-data", str(fd), f"/judge/rlvr/verifiers/{name}"]
    command += ["--remount-ro", "/", "--chdir", "/"]
    for name, value in ENVIRONMENT.items():
        command += ["--setenv", name, value]
    return [*command, interpreter(), *PYTHON_ALONE, "-m", ZYGOTE, str(channel), "/judge/filter"]


@cache
def _system() -> tuple[str, ...]:
    """bwrap's options for the system's libraries, read-only: /usr, and the folders and links beside it."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("/lib", "/lib64", "/bin"):
        if Path(name).is_symlink():
            options += ["--symlink", os.readlink(name), name]
        elif Path(name).is_dir():
            options += ["--ro-bind", name, name]
    python = interpreter()
    for local in ("/usr/local", "/usr/src"):  # hides the site's own files
        if Path(local).is_dir() and not python.startswith(local):
            options += ["--size", "4096", "--tmpfs", local, "--remount-ro", local]
    if not python.startswith("/usr/"):
        options += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return tuple(options)


@cache
def interpreter() -> str:
    """The Python that judges: the one that runs this, or the system's of the same version if root hides the first.

    So the syntax that works depends on the environment, not on the machine. Raises SandboxUnavailable if the user that
    root judges as can read neither.
    """
    current = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    candidates = [current, Path("/usr/bin", version), Path("/usr/local/bin", version)]
    for path in candidates:
        if os.access(path, os.X_OK) and _can_be_shown(path.resolve()):
            return str(path)
    raise SandboxUnavailable(
        f"no {version} outside of /tmp that other users than root can run, as root's programs are: tried "
        f"{', '.join(map(str, candidates))}; install the system's {version}, or judge as another user"
    )


def _can_be_shown(path: Path) -> bool:
    """Whether the user that judges, who is not root, can read it, and no test's own /tmp hides it."""
    if path.is_relative_to("/tmp"):
        return False
    to_all = path.stat().st_mode & 0o005 and all(folder.stat().st_mode & 0o001 for folder in path.parents)
    return os.geteuid() != 0 or bool(to_all)


def _caller() -> dict:
    """The user to judge as, if this is root: process limits do not bind root, and users cannot signal each other."""
    return {"user": _user(), "group": _user(), "extra_groups": []} if os.geteuid() == 0 else {}


def _user() -> int:
    return FIRST_USER + threading.get_native_id() % 1_000_000


def _sealed(name: str, data: bytes) -> int:
    """The descriptor of a file in memory that nobody can change."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd

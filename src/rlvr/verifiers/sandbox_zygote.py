"""Runs inside the outer sandbox: a warm interpreter that forks one process per test, and watches it. Trusted.

Python's start and the prelude's imports take 35 ms, a fork with namespaces of its own 2 ms. So this process imports
everything once, and no program ever runs in it:

    judge | outer sandbox (bubblewrap): this process, its pid 1
          |   namespaces of one test: its init, pid 1 there, which waits | the program, and what it starts

- The init is a fork of this process with new user, process, mount and IPC namespaces. It makes a sized /tmp and a
  read-only /proc, sets the limits, drops capabilities, installs the filter of system calls, and then forks the program.
  So it has all limits of the program itself, and it cannot be traced (it is not dumpable). When it ends, the kernel
  ends everything in its namespaces. Plain programs (`sandbox_plain`) run in the init itself, which saves a fork.
- This process is in a process namespace that the program cannot see. It never reads a program, an input or an output:
  the judge makes files and pipes, sends them, and this process hands them on. So nothing of one test reaches the next.
- Every LOOK_EVERY seconds it looks at all processes of the test, whose ids exist only in this namespace.
- A test has one CPU. So more CPUs do not let a program take more of the machine, get more memory between two looks, or
  start more threads by default (`ThreadPoolExecutor()`).

Network and host name belong to the outer sandbox, which has no network; the filter lets no program make a socket.
"""

import ctypes
import gc
import json
import os
import platform
import resource
import select
import signal
import socket
import sys
import time
from typing import NoReturn

from rlvr.verifiers import sandbox_driver, sandbox_plain

CHANNEL = 3  # the descriptor of the judge's socket, the only one beside the standard streams
LOOK_EVERY = 0.05  # seconds between looks at a test's processes
FILES = 4_096  # files and folders in /tmp; each takes 1 KiB of the kernel's memory
STACK = 64 << 20  # bytes, for programs that recurse deeply

# What the forks call is looked up and made here, once: each new object costs a fork copies of pages.
_LIBC = ctypes.CDLL(None, use_errno=True)
_PRCTL, _CAPSET, _MOUNT, _GETCPU = _LIBC.prctl, _LIBC.capset, _LIBC.mount, _LIBC.sched_getcpu
_CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]
_NEW = 0x10000000 | 0x20000000 | 0x00020000 | 0x08000000  # CLONE_NEWUSER, NEWPID, NEWNS and NEWIPC of <linux/sched.h>
_NOSUID_NODEV, _NOEXEC, _READ_ONLY = 2 | 4, 8, 1  # MS_* of <linux/mount.h>
_DUMPABLE, _SECCOMP, _CAPBSET_DROP, _NO_NEW_PRIVS, _MODE_FILTER = 4, 22, 24, 38, 2  # of <linux/prctl.h>
# The header with version 3 of <linux/capability.h>, and no capability.
_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()


def serve(channel: socket.socket, filters: "_Filters") -> None:
    """Judge one request after the other until the judge closes the channel."""
    channel.send(json.dumps({"python": platform.python_version()}).encode())
    while True:
        message, files, _, _ = socket.recv_fds(channel, 65_536, 4)
        if not message:
            os._exit(0)
        if message == b"stop":  # the test ended at that moment
            continue
        request = json.loads(message)
        channel.send(json.dumps(judge(channel, filters, request, files)).encode())


def judge(channel: socket.socket, filters: "_Filters", request: dict, files: list[int]) -> dict:
    """How a test ended: exit code, the limit that stopped it, any failure before the program began, CPU seconds."""
    status, to_status = os.pipe()
    init = _LIBC.syscall(_CLONE, _NEW | signal.SIGCHLD, 0, 0, 0, 0)  # a fork; os.fork makes no namespaces
    if init == 0:
        be_init(channel, filters, request, files, to_status)
    error = os.strerror(ctypes.get_errno())
    for fd in (*files, to_status):
        os.close(fd)
    if init < 0:
        os.close(status)
        return {"code": None, "stopped": "", "failed": f"no namespaces for a test: {error}", "seconds": 0.0}
    report, stopped, used = watch(channel, init, status, request)
    os.close(status)
    os.kill(init, signal.SIGKILL)
    _, ended, usage = os.wait4(init, 0)
    started, _, rest = report.partition(b"started\n")
    code = int(rest) if rest.endswith(b"\n") else None
    seconds = max(used, usage.ru_utime + usage.ru_stime)  # of what was killed only the watch knows
    if not stopped and seconds > request["seconds"]:
        stopped = "time"
    elif not stopped and (code == -signal.SIGKILL or os.WIFSIGNALED(ended)):
        stopped = "memory"  # the kernel kills when memory runs out; a program that kills itself counts the same
    failed = "" if report.startswith(b"started\n") else started.decode("utf-8", "replace") or "its init ended"
    return {"code": code, "stopped": stopped, "failed": failed, "seconds": seconds}


# ---- in the namespaces of a test -----------------------------------------------------------------


def be_init(channel: socket.socket, filters: "_Filters", request: dict, files: list[int], status: int) -> NoReturn:
    """The init of a test: set up, fork the program, wait for it and report how it ended."""
    program, stdin, output, errors = files
    try:
        channel.close()
        set_up(filters, request, program)
        child = 0 if request["plain"] else os.fork()
    except BaseException as error:
        os.write(status, f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    if child == 0:
        for number, fd in enumerate((stdin, output, errors)):
            os.dup2(fd, number)
        os.write(status, b"started\n")
        free = os.dup2(status, 3) + 1 if request["plain"] else 3  # the watch ends when no process has `status`
        os.closerange(free, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        gc.enable()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            sandbox_plain.main() if request["plain"] else sandbox_driver.main(request["entry"])
        finally:
            os._exit(1)  # whatever a program does to its interpreter, no path leads back here
    try:
        for fd in files:
            os.close(fd)
        while True:
            pid, wait_status = os.wait()
            if pid == child:
                os.write(status, b"%d\n" % os.waitstatus_to_exitcode(wait_status))
                os._exit(0)
    finally:
        os._exit(1)


def set_up(filters: "_Filters", request: dict, program: int) -> None:
    """Give this process empty folders, limits, and no rights."""
    os.setsid()  # a signal to a group of processes crosses namespaces
    os.sched_setaffinity(0, {_GETCPU()})  # the kernel usually put this fork on the idlest
    _prctl(_DUMPABLE, 1)  # else it does not own its files in /proc
    uid, gid = os.getuid(), os.getgid()
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
        ("oom_score_adj", "1000"),  # if memory still runs out, the kernel kills these first
    ):
        file = os.open(f"/proc/self/{name}", os.O_WRONLY)  # `open` takes twice as long in a fork
        os.write(file, text.encode())
        os.close(file)
    _mount("tmpfs", "/tmp", _NOSUID_NODEV, f"size={request['files_mb']}m,nr_inodes={FILES},mode=700")
    if not request["plain"]:
        with open(program, "rb", closefd=False) as text, open("/tmp/.program.py", "wb") as copy:
            copy.write(text.read())
    _mount("proc", "/proc", _NOSUID_NODEV | _NOEXEC | _READ_ONLY, "subset=pid")
    os.chdir("/tmp")
    for limit, value in limits(request):
        resource.setrlimit(limit, value)
    _prctl(_DUMPABLE, 0)
    give_up_rights(filters)


def limits(request: dict) -> list[tuple[int, tuple[int, int]]]:
    """Limits per process, also of the init: (resource, (soft, hard)). The filter refuses what they do not count."""
    mebibyte = 1 << 20
    values = {
        resource.RLIMIT_STACK: STACK,
        resource.RLIMIT_AS: request["memory_mb"] * mebibyte,
        resource.RLIMIT_NPROC: request["processes"] + 1,  # and the init
        resource.RLIMIT_FSIZE: request["files_mb"] * mebibyte,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CPU: int(request["seconds"]) + 2,
        resource.RLIMIT_CORE: 1,  # no core file is so small, and at 1 the kernel calls no program that stores cores
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 256,
    }
    pairs = []
    for limit, value in values.items():
        _, hard = resource.getrlimit(limit)
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # The stack counts as address space anyway, and contest programs may raise it.
        pairs.append((limit, (soft, hard if limit == resource.RLIMIT_STACK else soft)))
    return pairs


def give_up_rights(filters: "_Filters") -> None:
    for capability in range(64):
        if _PRCTL(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the kernel's last capability
    _checked(_CAPSET(*_CAPABILITIES), "capset")
    _prctl(_NO_NEW_PRIVS, 1)
    _prctl(_SECCOMP, _MODE_FILTER, ctypes.byref(filters))


class _Filters(ctypes.Structure):
    """struct sock_fprog of <linux/filter.h>."""

    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_void_p))

    def __init__(self, program: bytes):
        self.buffer = ctypes.create_string_buffer(program, len(program))
        super().__init__(len(program) // 8, ctypes.addressof(self.buffer))


def _prctl(option: int, value: int, pointer: object = None) -> None:
    _checked(_PRCTL(option, ctypes.c_ulong(value), pointer, None, None), f"prctl {option}")


def _mount(kind: str, folder: str, flags: int, options: str) -> None:
    result = _MOUNT(kind.encode(), folder.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _checked(result, f"{kind} on {folder}")


def _checked(returned: int, what: str) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


# ---- the watch -----------------------------------------------------------------------------------


def watch(channel: socket.socket, init: int, status: int, request: dict) -> tuple[bytes, str, float]:
    """The init's report until it ended, the limit that the test exceeded, and its CPU seconds at the last look.

    The judge may stop it too.

    The clock counts the test's CPU time and the time in which none of its processes wants a CPU. Time in which one of
    them waits for a CPU does not count: so no neighbour, honest or not, changes a verdict.
    """
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    poller.register(status, select.POLLIN)
    report, waited, used = b"", 0.0, 0.0
    began = last = time.monotonic()
    while True:
        ready = {fd for fd, _ in poller.poll(LOOK_EVERY * 1000)}
        if status in ready:
            chunk = os.read(status, 4096)
            if not chunk:
                return report, "", used
            report += chunk
        if channel.fileno() in ready:
            if not channel.recv(16):
                os._exit(0)  # the judge is gone; when this process ends, the kernel ends all others
            return report, "told", used
        now = time.monotonic()
        if now - last < LOOK_EVERY:
            continue
        used, memory_kb, wants = look(None if request["plain"] else init)
        waited += 0.0 if wants else min(now - last, 2 * LOOK_EVERY)
        last = now
        if memory_kb > request["memory_mb"] << 10:
            return report, "memory", used
        over = used > request["seconds"] or used + waited > request["clock"]
        if over or now - began > request["longest"]:
            return report, "time", used


def look(init: int | None) -> tuple[float, int, bool]:
    """CPU seconds and KiB of memory of all processes of a test, and whether one of their threads wants a CPU.

    Memory that no system file backs counts, swapped or not, with its page tables. The init shares its memory with this
    process, so only its children's CPU time counts; None if the init itself runs the programs.
    """
    ticks, memory_kb, wants = 0, 0, False
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            fields = _fields(f"/proc/{name}/stat")
            threads = [fields] if fields[17] == b"1" else _threads(name)
            memory_kb += _memory(name) if name != str(init) else 0
        except OSError:  # it ended
            continue
        ticks += sum(map(int, fields[11:15]))  # user and system, its own and its children's
        wants = wants or any(thread[0] == b"R" for thread in threads)
    return ticks / os.sysconf("SC_CLK_TCK"), memory_kb, wants


def _fields(path: str) -> list[bytes]:
    """The fields after the name, which may hold any text: the state, the parent, ..."""
    with open(path, "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _threads(process: str) -> list[list[bytes]]:
    threads = []
    for name in os.listdir(f"/proc/{process}/task"):
        try:
            threads.append(_fields(f"/proc/{process}/task/{name}/stat"))
        except OSError:  # it ended
            continue
    return threads


def _memory(process: str) -> int:
    with open(f"/proc/{process}/status", "rb") as file:
        rows = [line.split() for line in file if line.startswith((b"RssAnon", b"RssShmem", b"VmSwap", b"VmPTE"))]
    return sum(int(row[1]) for row in rows)


def main() -> None:
    with open(sys.argv[2], "rb") as file:
        filters = _Filters(file.read())
    os.dup2(int(sys.argv[1]), CHANNEL)  # the judge's number may be high, as it may have many files open
    os.closerange(CHANNEL + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sys.path.remove(os.environ.pop("PYTHONPATH"))  # the folder of this file: no program needs to see it
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the init handles no signal, so its children cannot interrupt it
    _prctl(_DUMPABLE, 0)
    sandbox_driver.prelude()
    gc.disable()
    gc.freeze()  # a collection in a fork would touch, and so copy, every page
    serve(socket.socket(fileno=CHANNEL), filters)


if __name__ == "__main__":
    main()

"""The system calls that a program in the sandbox may make, as a filter for the kernel (seccomp, classic BPF).

Python and contest programs may make the calls that they need. Every other call answers ENOSYS, like a kernel without
it, and libraries cope with that. A list of forbidden calls would have to name every kernel object that no limit counts
(queues, shared memory, files in memory, sockets, locks, watches, extended attributes, keys) and every call that reaches
the rest of the machine (sync, splice, io_uring, BPF, tracing), including those of the next kernel.

Some calls are allowed only with certain arguments; else they fail with EPERM.
"""

import platform
import struct
from dataclasses import dataclass

from rlvr.verifiers import VerifierError

# Name, number on x86-64 and number on aarch64 (of <asm/unistd.h>; "-" if there is none), by purpose.
ALLOWED = {
    "files": """
        read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69,
        pwritev 296 70, preadv2 327 286, pwritev2 328 287, lseek 8 62, open 2 -, openat 257 56, openat2 437 437,
        creat 85 -, close 3 57, close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25, ioctl 16 29,
        stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48,
        faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, statfs 137 43,
        fstatfs 138 44, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12,
        flistxattr 196 13, ftruncate 77 46, truncate 76 45, fallocate 285 47, sendfile 40 71, copy_file_range 326 285
    """,
    "folders": """
        getcwd 79 17, chdir 80 49, fchdir 81 50, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35,
        rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36,
        chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, umask 95 166, utime 132 -, utimes 235 -,
        futimesat 261 -, utimensat 280 88
    """,
    "pipes": """
        pipe 22 -, pipe2 293 59, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72
    """,
    "memory": """
        brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233
    """,
    "processes": """
        clone 56 220, fork 57 -, vfork 58 -, execve 59 221, exit 60 93, exit_group 231 94, wait4 61 260,
        waitid 247 95, kill 62 129, tkill 200 130, tgkill 234 131, getpid 39 172, getppid 110 173, gettid 186 178,
        getpgid 121 155, getpgrp 111 -, setpgid 109 154, getsid 124 156, getuid 102 174, geteuid 107 175,
        getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, prctl 157 167,
        arch_prctl 158 -, set_tid_address 218 96, set_robust_list 273 99, rseq 334 293, futex 202 98,
        futex_waitv 449 449, sched_yield 24 124, sched_getaffinity 204 123, getpriority 140 141, getcpu 309 168,
        getrlimit 97 163, prlimit64 302 261, getrusage 98 165, times 100 153
    """,
    "signals": """
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigsuspend 130 133, rt_sigpending 127 136,
        rt_sigtimedwait 128 137, sigaltstack 131 132, restart_syscall 219 128, pause 34 -, alarm 37 -,
        getitimer 36 102, setitimer 38 103
    """,
    "time": """
        time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
        nanosleep 35 101
    """,
    "machine": """
        uname 63 160, sysinfo 99 179, getrandom 318 278
    """,
}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH of <linux/audit.h>
X32 = 0x4000_0000  # x86-64 has a second table of calls from here on

LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # of <linux/bpf_common.h>
ALLOW, KILL = 0x7FFF_0000, 0x8000_0000  # of <linux/seccomp.h>
EPERM, ENOSYS = 0x0005_0001, 0x0005_0026  # an errno each
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data


@dataclass(frozen=True)
class Only:
    """The argument (its lower half, all that the kernel reads of these) must be one of the values."""

    argument: int
    values: tuple[int, ...]

    def steps(self) -> list[bytes]:
        left = range(len(self.values), 0, -1)
        matches = [_step(EQUAL, value, rest, 0) for value, rest in zip(self.values, left, strict=True)]
        return [_load(self.argument), *matches, _step(RETURN, EPERM)]


@dataclass(frozen=True)
class NotAll:
    """The argument must not have all of the bits."""

    argument: int
    bits: int

    def steps(self) -> list[bytes]:
        return [_load(self.argument), _step(AND, self.bits), _step(EQUAL, self.bits, 0, 1), _step(RETURN, EPERM)]


@dataclass(frozen=True)
class ReadOnly:
    """If the argument has the value, the pointer to the new setting must be null."""

    argument: int
    value: int
    pointer: int

    def steps(self) -> list[bytes]:
        return [
            _load(self.argument),
            _step(EQUAL, self.value, 0, 5),
            _load(self.pointer),
            _step(EQUAL, 0, 0, 2),
            _load(self.pointer, upper=True),
            _step(EQUAL, 0, 1, 0),
            _step(RETURN, EPERM),
        ]


NAMESPACES = (0x20000, *(1 << bit for bit in range(25, 31)))  # CLONE_NEW* of <linux/sched.h>
RULES = {
    "clone": [NotAll(0, flag) for flag in NAMESPACES],
    # Duplicates, flags and the size of a pipe; no locks, leases, notes and no larger pipe.
    "fcntl": [Only(1, (0, 1, 2, 3, 4, 1030, 1032))],
    # Is it a terminal, how wide is it, how much can be read; blocking and inheritance.
    "ioctl": [Only(1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))],
    # Shared memory without a file outlives its processes; huge pages belong to the whole machine.
    "mmap": [NotAll(3, 0x21), NotAll(3, 0x40000)],
    "prctl": [Only(0, (1, 15, 16))],  # the signal at a parent's death, the name
    # The caller's own limits; that of core dumps stays at 1 byte, where the kernel calls no program to store them.
    "prlimit64": [Only(0, (0,)), ReadOnly(1, 4, 2)],
    # A child whose parent ignores SIGCHLD leaves no record of its CPU time.
    "rt_sigaction": [ReadOnly(0, 17, 1)],
}


def filter_program(machine: str | None = None) -> bytes:
    """An array of struct sock_filter. Raises VerifierError for a machine that is not in MACHINES."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise VerifierError(f"no filter of system calls for {machine}; code is judged on {' or '.join(MACHINES)}")
    _, architecture = MACHINES[machine]
    program = [_step(LOAD, ARCHITECTURE), _step(EQUAL, architecture, 1, 0), _step(RETURN, KILL), _step(LOAD, NUMBER)]
    program += [_step(AT_LEAST, X32, 0, 1), _step(RETURN, KILL)]
    for name, number in numbers(machine).items():
        checked = [step for rule in RULES.get(name, ()) for step in rule.steps()]
        program += [_step(EQUAL, number, 0, len(checked) + 1), *checked, _step(RETURN, ALLOW)]
    return b"".join([*program, _step(RETURN, ENOSYS)])


def numbers(machine: str) -> dict[str, int]:
    """The allowed calls of a machine by name."""
    column, _ = MACHINES[machine]
    rows = [row.split() for text in ALLOWED.values() for row in text.split(",")]
    return {name: int(columns[column]) for name, *columns in rows if columns[column] != "-"}


def _load(argument: int, *, upper: bool = False) -> bytes:
    return _step(LOAD, ARGUMENTS + 8 * argument + 4 * upper)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)

"""The system calls that a program in the sandbox is refused, as a filter for the kernel (seccomp, classic BPF).

Refused is what holds memory that no limit counts (System V and POSIX queues and shared memory, files in memory, socket
buffers), what reaches beyond the sandbox (sockets of virtual machines, keyrings that are shared), and what a contest
program has no use for (tracing, io_uring, BPF). A refused call fails with EPERM.
"""

from __future__ import annotations

import platform
import struct

from rlvr.verifiers import VerifierError

# Numbers of <asm/unistd.h>: x86-64, and the generic ones that aarch64 has.
REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH of <linux/audit.h>
X32 = 0x4000_0000  # x86-64 has a second table of calls from here on

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # of <linux/bpf_common.h>
ALLOW, EPERM, KILL = 0x7FFF_0000, 0x0005_0001, 0x8000_0000  # of <linux/seccomp.h>
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data


def filter_program(machine: str | None = None) -> bytes:
    """An array of struct sock_filter. Raises VerifierError for a machine whose numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise VerifierError(f"no filter of system calls for {machine}; code is judged on {' or '.join(MACHINES)}")
    column, architecture = MACHINES[machine]
    program = [_step(LOAD, ARCHITECTURE), _step(EQUAL, architecture, 1, 0), _step(RETURN, KILL), _step(LOAD, NUMBER)]
    program += [_step(AT_LEAST, X32, 0, 1), _step(RETURN, KILL)]
    for numbers in REFUSED.values():
        program += [_step(EQUAL, numbers[column], 0, 1), _step(RETURN, EPERM)]
    return b"".join([*program, _step(RETURN, ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)

"""Locks of a Snakemake that was killed are removed; those of one that lives are respected.

Snakemake writes which files a lock covers, but not whose it is. After a SIGKILL or a power cut its next start refuses
to run until somebody says `--unlock`. So each Snakemake writes an owner beside the locks: host, boot, process and when
that process started. An owner of this host whose process is gone is dead. One elsewhere may be alive.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

LOCKS, OWNERS = "locks", "owners"  # folders below .snakemake; the first is Snakemake's


@dataclass(frozen=True)
class Owner:
    """A Snakemake process. `files` are the names of its locks, empty before it has taken them."""

    host: str
    boot: str  # of the kernel
    namespace: str  # of process ids: containers count their own
    process: int
    started: int  # clock ticks after the boot
    since: str
    files: tuple[str, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether it runs, as far as this process can see; an owner elsewhere may."""
        here = _machine()
        if self.host != here[0]:
            return True
        if self.boot != here[1]:
            return False  # the machine has started again since
        return self.namespace != here[2] or _started(self.process) == self.started

    def __str__(self) -> str:
        return f"Snakemake process {self.process} on {self.host}, started {self.since}"


def _machine() -> tuple[str, str, str]:
    return (
        os.uname().nodename,
        Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        os.readlink("/proc/self/ns/pid"),
    )


def _started(process: int) -> int | None:
    """When a process of this namespace started, or None where there is none, or only what is left of one (a zombie)."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def release(folder: Path) -> list[str]:
    """Remove the locks of dead owners below .snakemake (`folder`); what was done and what was not, in lines."""
    (folder / OWNERS).mkdir(parents=True, exist_ok=True)
    with open(folder / OWNERS / "guard", "a") as guard:  # or another start may take a lock between a look and a removal
        fcntl.flock(guard, fcntl.LOCK_EX)
        locks = {path.name: path for path in sorted((folder / LOCKS).glob("*.lock"))}
        owners = _owners(folder)
        living = {path: owner for path, owner in owners.items() if owner.alive}
        lines = []
        for path, owner in owners.items():
            if path in living or not (owner.files or not living):
                continue
            # One that was killed before it noted its locks has them all, where nobody else is there.
            own = [name for name in (owner.files or tuple(locks)) if name in locks]
            for name in own:
                locks.pop(name).unlink(missing_ok=True)
            if own:
                lines.append(f"removed the lock of {owner}: it ended without removing it")
            path.unlink(missing_ok=True)
    held = [owner for owner in living.values() if set(owner.files) & set(locks)]
    return lines + [f"a lock of {owner} is respected: it may still run" for owner in held]


def _owners(folder: Path) -> dict[Path, Owner]:
    found = {}
    for path in sorted((folder / OWNERS).glob("*.json")):
        try:
            content = json.loads(path.read_text())
            found[path] = Owner(**{**content, "files": tuple(content["files"])})
        except (OSError, ValueError, TypeError, KeyError):
            continue  # being written, or cut off by the end that left the lock: then its lock is kept
    return found


def own(folder: Path) -> Path:
    """Note this process as an owner below .snakemake until it ends; returns its note."""
    host, boot, namespace = _machine()
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    owner = Owner(host, boot, namespace, os.getpid(), _started(os.getpid()) or 0, since)
    note = folder / OWNERS / f"{host}-{os.getpid()}-{secrets.token_hex(4)}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    _write(note, owner)
    atexit.register(note.unlink, missing_ok=True)
    return note


def holds(note: Path, files: Iterable[str]) -> None:
    """Add the names of the locks that this process has taken to its note."""
    content = json.loads(note.read_text())
    _write(note, Owner(**{**content, "files": tuple(sorted(files))}))


def _write(note: Path, owner: Owner) -> None:
    partial = note.with_suffix(".tmp")
    partial.write_text(json.dumps(asdict(owner)))
    partial.replace(note)

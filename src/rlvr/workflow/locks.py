"""Removes locks of killed Snakemakes and respects those of living ones.

Snakemake's locks name their files, but not their owner. After a SIGKILL or a power cut the next start refuses to run
without `--unlock`. So each Snakemake writes a note about itself next to the locks, and holds it by flock: the kernel
frees it, however the process ends. An owner of another host counts as alive.
"""

import atexit
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

LOCKS, OWNERS = "locks", "owners"  # folders below .snakemake; the first is Snakemake's


@dataclass(frozen=True)
class Owner:
    """A Snakemake process. `files` are the names of its locks; None before it has taken them."""

    host: str
    machine: str  # hosts of two machines may have one name
    process: int
    since: str
    files: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"Snakemake process {self.process} on {self.host}, started {self.since}"


def _here() -> tuple[str, str]:
    file = Path("/etc/machine-id")
    return os.uname().nodename, file.read_text().strip() if file.is_file() else ""


def _alive(note: Path, owner: Owner | None) -> bool:
    """Whether an owner may still run; True for another host, an unreadable note and a file system without flock."""
    if owner is None or (owner.host, owner.machine) != _here():
        return True
    try:
        with open(note) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def release(folder: Path) -> list[str]:
    """Messages after removing the locks of dead owners below .snakemake (`folder`).

    Snakemake reuses the names of locks. A lock belongs to a dead owner if it is as old as the owner's note, and no
    living owner names it.
    """
    (folder / OWNERS).mkdir(parents=True, exist_ok=True)
    with open(folder / OWNERS / "guard", "a") as guard:  # another start must not take a lock between check and removal
        fcntl.flock(guard, fcntl.LOCK_EX)
        owners = _owners(folder)
        alive = {path: owner for path, owner in owners.items() if _alive(path, owner)}
        living_names = {name for owner in alive.values() for name in (owner and owner.files) or ()}
        undecided = any(owner is None or owner.files is None for owner in alive.values())  # it may take any name
        lines = []
        for path, owner in owners.items():
            if owner is None or path in alive or undecided:
                continue
            if owner.files is None and (alive or _snakemakes_in(folder.absolute().parent)):
                continue  # its locks cannot be distinguished from those of living processes
            owned = [lock for lock in _of(owner, path, folder) if lock.name not in living_names]
            for lock in owned:
                lock.unlink(missing_ok=True)
            if owned:
                lines.append(f"removed the lock of {owner}: it ended without removing it")
            path.unlink(missing_ok=True)
    for owner in filter(None, alive.values()):
        if any((folder / LOCKS / name).exists() for name in owner.files or ()):
            lines.append(f"a lock of {owner} is respected: it may still run")
    return lines


def _of(owner: Owner, note: Path, folder: Path) -> list[Path]:
    """The locks of a dead owner: those in its note, or without a list all younger locks."""
    locks = sorted((folder / LOCKS).glob("*.lock"))
    note_time = note.stat().st_mtime
    if owner.files is None:
        return [lock for lock in locks if lock.stat().st_mtime >= note_time]
    return [lock for lock in locks if lock.name in owner.files and lock.stat().st_mtime <= note_time]


def _snakemakes_in(folder: Path) -> list[int]:
    """Other Snakemake processes of this host in a folder; not every workflow writes an owner."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(folder)
        and any("snakemake" in word for word in (process.info["cmdline"] or [])[:3])
        and process.pid != os.getpid()
    ]


def living(folder: Path) -> list[Owner]:
    """The owners below .snakemake that may still run."""
    return [owner for note, owner in _owners(folder).items() if owner is not None and _alive(note, owner)]


def refusal(folder: Path, inputs: set[str], outputs: set[str]) -> str | None:
    """Who works on the inputs and outputs of this command, by the files in the locks below .snakemake; else None."""
    others = [owner for owner in living(folder) if (owner.host, owner.process) != (os.uname().nodename, os.getpid())]
    doing = {owner: what for owner in others if (what := _in_the_way(owner, folder, inputs, outputs))}
    if not doing:
        return None
    elsewhere = [owner for owner in doing if owner.host != os.uname().nodename]
    wait = "wait until it ends, or ask for other files; `rlvr watch` shows what it does"
    dead = f"; if it no longer runs on {elsewhere[0].host}, `snakemake --unlock` removes its lock" if elsewhere else ""
    return f"{'; '.join(f'{owner} {what}' for owner, what in doing.items())}: {wait}{dead}"


def _in_the_way(owner: Owner, folder: Path, inputs: set[str], outputs: set[str]) -> str | None:
    """What an owner does with files of this command; Snakemake's locks are N.input.lock and N.output.lock."""

    def named(kind: str) -> set[str]:
        found: set[str] = set()
        for name in owner.files or ():
            with suppress(FileNotFoundError):  # it has ended
                text = (folder / LOCKS / name).read_text() if name.endswith(f".{kind}.lock") else ""
                found.update(map(str.strip, text.splitlines()))
        return found

    if named("output") & (inputs | outputs):
        return "makes files that this command needs"
    return "reads files that this command makes" if named("input") & outputs else None


def _owners(folder: Path) -> dict[Path, Owner | None]:
    """Each note with its owner; None where the note cannot be read, so its owner may live."""
    owners: dict[Path, Owner | None] = {}
    for path in sorted((folder / OWNERS).glob("*.json")):
        try:
            content = json.loads(path.read_text())
            owners[path] = Owner(**{**content, "files": None if content["files"] is None else tuple(content["files"])})
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError):
            owners[path] = None
    return owners


def own(folder: Path) -> Path:
    """The note of this process as an owner below .snakemake; removed when the process ends."""
    owner = Owner(*_here(), os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S"))
    note = folder.absolute() / OWNERS / f"{owner.host}-{os.getpid()}-{secrets.token_hex(4)}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    file = open(note.with_suffix(".tmp"), "w")  # noqa: SIM115 - open as long as this process runs
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(json.dumps(asdict(owner)))
    file.flush()
    note.with_suffix(".tmp").replace(note)  # the lock goes with it
    atexit.register(file.close)
    atexit.register(note.unlink, missing_ok=True)  # before the other: the last one first
    return note


def holds(note: Path, files: Iterable[str]) -> None:
    """Writes the names of this process's locks into its note, in place: another file would not be locked."""
    text = note.read_text()
    with open(note, "r+") as file:
        file.write(json.dumps(json.loads(text) | {"files": sorted(files)}).ljust(len(text)))

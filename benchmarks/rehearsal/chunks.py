"""Chunks that build.py made: checked and unpacked, with the standard library alone."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

SUMS = "SHA256SUMS"


class Failed(RuntimeError):
    """A block that did not do what it should; the message is its line of figures."""


def check(folder: Path) -> list[Path]:
    """The chunks that SHA256SUMS of a folder names, in order. Raises Failed for a missing or damaged one."""
    if not (folder / SUMS).is_file():
        raise Failed(f"{folder}: no {SUMS}")
    chunks = []
    for line in (folder / SUMS).read_text().splitlines():
        expected, name = line.split()
        path = folder / name.lstrip("*")
        if not path.is_file():
            raise Failed(f"{path}: missing")
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while part := file.read(2**22):
                digest.update(part)
        if digest.hexdigest() != expected:
            raise Failed(f"{path}: damaged, other checksum than in {SUMS}")
        chunks.append(path)
    return sorted(chunks)


def unpack(folder: Path, into: Path) -> None:
    """Unpack checked archives: site.tar.xz, in chunks, into `into`/site, and kit.tar.xz into `into`/kit."""
    parts: dict[str, list[str]] = {}
    for path in check(folder):
        parts.setdefault(path.name.partition(".")[0], []).append(str(path))
    for name, chunks in parts.items():
        (into / name).mkdir(parents=True, exist_ok=True)
        reader = subprocess.Popen(["cat", *chunks], stdout=subprocess.PIPE)
        tar = ["tar", "xJf", "-", "-C", str(into / name)]
        if subprocess.run(tar, stdin=reader.stdout).returncode or reader.wait():
            raise Failed(f"{folder}: {name}.tar.xz cannot be unpacked")

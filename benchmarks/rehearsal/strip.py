"""Zeroes the code of other GPUs than sm_90 in a CUDA library, so that it compresses to a fifth.

    python benchmarks/rehearsal/strip.py IN OUT

A library's section .nv_fatbin is a row of containers. Each holds the same kernels as machine code (cubin) of several
architectures, or as PTX, which the driver compiles. The driver takes the entry that fits the GPU and never reads the
others, so their bytes may be zero. Kept are the cubins of sm_90, else the newest PTX that sm_90 can compile.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0xBA55ED50  # of a container
PTX, CUBIN = 1, 2  # kinds of entries
ARCHITECTURE = 90  # Hopper
SECTION = b".nv_fatbin"


@dataclass(frozen=True)
class Entry:
    """One architecture's code in a container: `start` and `size` in bytes of the file."""

    kind: int
    architecture: int
    start: int
    size: int


def section(data: bytes | bytearray) -> tuple[int, int]:
    """Offset and size of .nv_fatbin in a 64-bit ELF file. Raises ValueError where there is none."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    start_of_names = headers[names][4]
    for name, _, _, _, offset, length in headers:
        at = start_of_names + name
        if bytes(data[at : at + len(SECTION) + 1]) == SECTION + b"\0":
            return offset, length
    raise ValueError("no section .nv_fatbin: the library has no CUDA code")


def containers(data: bytes | bytearray, offset: int, size: int) -> Iterator[list[Entry]]:
    """The entries of each container in a part of the file."""
    position, end = offset, offset + size
    while position < end - 16:
        magic, _, header, length = struct.unpack_from("<IHHQ", data, position)
        if magic != MAGIC:
            position += 8  # padding between containers
            continue
        entries, at = [], position + header
        position = at + length
        while at < position:
            kind, _, header, length = struct.unpack_from("<HHIQ", data, at)
            (architecture,) = struct.unpack_from("<I", data, at + 28)
            entries.append(Entry(kind, architecture, at + header, length))
            at += header + length
        yield entries


def needed(entries: list[Entry], architecture: int = ARCHITECTURE) -> list[Entry]:
    """What a GPU of this architecture takes from a container: its cubins, else the newest PTX that it can compile."""
    if own := [e for e in entries if e.kind == CUBIN and e.architecture == architecture]:
        return own
    ptx = [e for e in entries if e.kind == PTX and e.architecture <= architecture]
    return [max(ptx, key=lambda e: e.architecture)] if ptx else []


def strip(data: bytearray) -> tuple[int, int]:
    """Zero what is not needed; the bytes of code that are kept, and that are zeroed."""
    kept = zeroed = 0
    for entries in containers(data, *section(data)):
        keep = needed(entries)
        kept += sum(entry.size for entry in keep)
        for entry in entries:
            if entry not in keep:
                data[entry.start : entry.start + entry.size] = bytes(entry.size)
                zeroed += entry.size
    return kept, zeroed


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data = bytearray(Path(sys.argv[1]).read_bytes())
    kept, zeroed = strip(data)
    Path(sys.argv[2]).write_bytes(data)
    print(f"{Path(sys.argv[1]).name}: {kept / 2**20:.1f} MiB of code kept, {zeroed / 2**20:.1f} MiB zeroed")


if __name__ == "__main__":
    main()

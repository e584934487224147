"""The compiled engine, and whether it is there.

The package's build (setup.py) compiles engine.cpp, on x86-64 for processors with AVX2 and for those with AVX-512; the
best that this machine runs is loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
from ctypes import c_float, c_int, c_int32, c_long, c_void_p
from functools import cache
from pathlib import Path

FOLDER, SOURCES = Path(__file__).parent, ("engine.cpp", "lanes.h")
LEVELS = {  # of processors, best first, with the flags that they need in /proc/cpuinfo
    "v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "v3": ("avx2", "fma", "bmi1", "bmi2", "movbe"),
    "any": (),
}


class NoEngine(RuntimeError):
    """The engine is not there; the message says why, and what to do."""


class EngineShape(ctypes.Structure):
    _fields_ = [
        *((name, c_int32) for name in ("hidden", "heads", "kv_heads", "head_dim", "ffn", "layers", "vocab")),
        *((name, c_int32) for name in ("norms", "tied")),
        ("epsilon", c_float),
    ]


def source_digest() -> str:
    """What a built library must have been compiled from."""
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in SOURCES)).hexdigest()[:16]


def processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")), set())


def usable() -> list[Path]:
    """The compiled libraries that this processor runs, best first, of any state of the source."""
    flags = processor_flags()
    levels = [level for level, needed in LEVELS.items() if flags.issuperset(needed)]
    return [path for level in levels for path in sorted(FOLDER.glob(f"engine_{level}.*so"))]


@cache
def built() -> tuple[Path, ...]:
    """Those that were compiled from the present source."""
    digest = source_digest().encode()
    return tuple(p for p in usable() if ctypes.c_char_p.in_dll(_open(p), "engine_source").value == digest)


def missing() -> str | None:
    """Why there is no engine here, in half a sentence, or None."""
    if built():
        return None
    if usable():
        return "it was built from another engine.cpp (install the package again)"
    if list(FOLDER.glob("engine_*so")):
        return "it is built for other processors than this one"
    return "it is not built here (it needs a C++ compiler: apt-get install g++, then install the package again)"


def level() -> str:
    """The processors that the loaded library was compiled for: a key of LEVELS. Raises NoEngine."""
    return Path(library()._name).name.split(".")[0].removeprefix("engine_")


@cache
def _open(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


@cache
def library() -> ctypes.CDLL:
    if reason := missing():
        raise NoEngine(f"the native engine: {reason}")
    return prepared(_open(built()[0]))


def prepared(library: ctypes.CDLL) -> ctypes.CDLL:
    """A library with the types of its functions."""
    types = {
        "engine_new": (c_void_p, ctypes.POINTER(EngineShape)),
        "engine_free": (None, c_void_p),
        "engine_size": (c_long, c_void_p),
        "engine_load": (None, c_void_p, c_long, c_void_p, c_void_p),
        "engine_positions": (None, c_void_p, c_int, c_void_p, c_void_p),
        "engine_grow": (c_int, c_void_p, *[c_int] * 3, *[c_void_p] * 5),
        "engine_forward": (None, c_void_p, c_int, c_void_p, c_void_p),
        "engine_backward": (None, *[c_void_p] * 3, c_long, c_void_p, c_void_p),
        "engine_sample": (c_int, c_void_p, *[c_int] * 4, *[c_void_p] * 3, c_int, c_float, c_float, *[c_void_p] * 5),
        "engine_product": (None, *[c_int] * 3, *[c_void_p] * 3),
    }
    for name, (result, *arguments) in types.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library

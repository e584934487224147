"""Builds the native engine. All else about the package is in pyproject.toml.

Without a C++ compiler the installation goes on, and the torch decoder does the engine's work (docs/engine.md).
"""

import hashlib
import platform
from pathlib import Path

from setuptools import Extension, setup

FOLDER = "src/rlvr/policies/native"
SOURCES = (f"{FOLDER}/engine.cpp", f"{FOLDER}/lanes.h")
DIGEST = hashlib.sha256(b"".join((Path(__file__).parent / name).read_bytes() for name in SOURCES)).hexdigest()[:16]
# On x86-64 for processors with AVX-512 and for those with AVX2; the loader takes the best that runs.
LEVELS = {"v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"], "v3": ["-march=x86-64-v3"]}
if platform.machine().lower() not in ("x86_64", "amd64"):
    LEVELS = {"any": []}

setup(
    ext_modules=[
        Extension(
            f"rlvr.policies.native.engine_{level}",
            sources=[SOURCES[0]],
            depends=[SOURCES[1]],
            define_macros=[("SOURCE", f'"{DIGEST}"')],
            extra_compile_args=["-std=gnu++17", "-O3", "-fno-math-errno", "-fvisibility=hidden", *flags],
            optional=True,
        )
        for level, flags in LEVELS.items()
    ]
)

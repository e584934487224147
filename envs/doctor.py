"""Says what is missing before anything is installed, a line each. Runs on the system's Python alone, 3.6 or newer.

Annotations that an old Python cannot evaluate are texts: it has to come to the line that says that it is too old.

python3 envs/doctor.py                      for .venv; where nothing is missing, a line on what was found
python3 envs/doctor.py quiet                the same without that line
python3 envs/doctor.py cluster python3.12   for .venv-cluster (verl and vLLM on GPUs), which that Python makes
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED_GIB = 4
WITH_CUDA_GIB = 8  # torch from the package index
CLUSTER_GIB = 12
CLUSTER_PYTHON = (3, 12)  # of verl (below 3.13) and of FlashAttention's wheel
GLIBC = (2, 31)  # of the wheels in envs/cluster.txt
DRIVER = 580  # of CUDA 13
CONTAINER = "or use the container, docs/cluster.md"
ROOT = Path(__file__).resolve().parents[1]


def problems() -> "list[str]":
    found = []
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs on whatever Python there is
        found.append(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: set PYTHON=python3.11")
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        found.append("the venv module is missing: apt-get install python3-venv")
    if shutil.which("git") is None:
        found.append("git is missing (results note the commit that made them): apt-get install git")
    if not (ROOT / ".venv" / ".main").exists() and free() < NEEDED_GIB:
        found.append(f"{NEEDED_GIB} GiB of disk are needed for the environment, {free():.1f} GiB are free in {ROOT}")
    if not os.access(ROOT, os.W_OK):
        found.append(f"{ROOT} is not writable")
    return found


def notes() -> "list[str]":
    found = []
    if not (ROOT / ".venv" / ".main").exists() and NEEDED_GIB <= free() < WITH_CUDA_GIB:
        found.append(
            f"{free():.1f} GiB of disk are free: torch with CUDA would need {WITH_CUDA_GIB}, without {NEEDED_GIB}"
        )
    if shutil.which("cc") is None:
        found.append("no C compiler: needed only where a package has no wheel for this machine: apt-get install gcc")
    if shutil.which("c++") is None:
        found.append(
            "no C++ compiler: the native engine is not built, and tiny models train and sample three to five times as "
            "slowly with torch: apt-get install g++"
        )
    if shutil.which("bwrap") is None:
        found.append(
            "no bubblewrap: needed only to judge code, which is never run without: apt-get install bubblewrap, or "
            "without root make install-bubblewrap, with .venv/bin on the path"
        )
    return found


def machine() -> "str":
    """What this machine has, on one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    compiler = said("c++", "-dumpfullversion", "-dumpversion").strip()
    found = [
        f"Python {sys.version.split()[0]}",
        f"{cores} core{'s' * (cores != 1)}",
        f"{memory:.0f} GiB of memory",
        f"{free():.0f} GiB of disk free",
        said("bwrap", "--version").strip() or "no bubblewrap",
        f"C++ compiler {compiler}" if compiler else "no C++ compiler",
        instructions(),
    ]
    return ", ".join(found)


def instructions() -> "str":
    """The widest instruction set that the native engine uses here, else the kind of processor."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        flags = ""
    return "AVX-512" if " avx512f" in flags else "AVX2" if " avx2" in flags else platform.machine()


def cluster_problems(python: str) -> "list[str]":
    found = []
    wanted = ".".join(map(str, CLUSTER_PYTHON))
    version = said(python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])").strip()
    if version != wanted:
        has = f"{python} is {version}" if version else f"{python} does not run, or lacks the venv module"
        found.append(f"Python {wanted} is needed, {has}: set CLUSTER_PYTHON={{its path}}, {CONTAINER}")
    glibc = numbers(os.confstr("CS_GNU_LIBC_VERSION") or "")
    if glibc < GLIBC:
        found.append(f"glibc {dotted(GLIBC)} or newer is needed, this is {dotted(glibc) or 'none'}: use the container")
    if not (ROOT / ".venv-cluster" / ".cluster").exists() and free() < CLUSTER_GIB:
        found.append(f"{CLUSTER_GIB} GiB of disk are needed for verl and vLLM, {free():.1f} GiB are free in {ROOT}")
    driver = said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0]
    if driver and numbers(driver) < (DRIVER,):
        found.append(f"NVIDIA's driver must be {DRIVER} or newer (CUDA 13), this is {driver}: ask the site")
    return found


def cluster_notes(python: str) -> "list[str]":
    """What a node that trains needs, and this one lacks: a login node may."""
    found = []
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        found.append(f"no C compiler: Triton compiles with it on each GPU node: load a module with gcc, {CONTAINER}")
    header = "import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
    if said(python, "-c", header).strip() == "False":
        found.append(f"{python} has no Python.h: Triton compiles with it: install python3.12-dev, {CONTAINER}")
    if shutil.which("nvidia-smi") is None:
        found.append(f"no NVIDIA driver here: GPU nodes need {DRIVER} or newer")
    return found


def free() -> float:
    """GiB."""
    return shutil.disk_usage(ROOT).free / 2**30


def said(*command: str) -> str:
    """What a command prints; nothing if it is missing or fails."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return ""


def numbers(version: str) -> "tuple[int, ...]":
    return tuple(int(part) for part in re.findall(r"\d+", version))


def dotted(version: "tuple[int, ...]") -> str:
    return ".".join(map(str, version))


if __name__ == "__main__":
    of_cluster = sys.argv[1:2] == ["cluster"]
    missing = cluster_problems(sys.argv[2]) if of_cluster else problems()
    for line in missing:
        print(f"missing: {line}", file=sys.stderr)
    for line in cluster_notes(sys.argv[2]) if of_cluster else notes():
        print(f"note: {line}", file=sys.stderr)
    if not missing and not sys.argv[1:]:
        print(f"{'ready, but for the notes above' if notes() else 'all is well'}: {machine()}")
    sys.exit(1 if missing else 0)

"""Whether a node has what its jobs need: `python -m rlvr.workflow.node_check --gpus 8 ... --out FILE`.

The target `check_nodes` runs it as one job of each kind. Each line names a finding; one that would stop a job says what
to do. It imports Python's own modules, the plan's verifiers, and the hub's client where a model comes from the hub.
"""

import argparse
import fcntl
import json
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

DRIVER = 580  # of CUDA 13, which the locked torch needs
GLIBC = (2, 31)  # of the oldest wheels in envs/cluster.txt
SHARED = 8  # GiB of /dev/shm, where NCCL, Ray and vLLM exchange tensors
PATIENCE = 30  # seconds for another program or the hub
SOCKET = 107  # bytes of the path of a Unix socket, and those that Python's multiprocessing appends to TMPDIR
IN_TMPDIR = len("/pymp-12345678/listener-12345678")
OF_RUNS = "/tmp"  # where runs by verl have their sockets (rlvr.training.backends.verl.own_ray)
FETCH = "on the login node run `snakemake --cores 1 --config scale=SCALE papers=PAPERS -- models`"
NVCC = "import json; from rlvr.run_in_env import nvcc; print(json.dumps([nvcc()]))"
# Asked of another Python: the first compiler of those that Triton and inductor take, a Python.h, and whether it exists.
TOOLS = """
import json, os, shutil, sysconfig
compilers = filter(None, (os.environ.get("CC"), "gcc", "clang", "cc"))
folders = [sysconfig.get_path("include"), sysconfig.get_path("include", "posix_prefix")]  # Debian's own has two
folders += [folder for name in ("CPATH", "C_INCLUDE_PATH") for folder in os.environ.get(name, "").split(os.pathsep)]
headers = [os.path.join(folder, "Python.h") for folder in filter(None, folders)]
header = next(filter(os.path.exists, headers), headers[0])
print(json.dumps([next(filter(None, map(shutil.which, compilers)), None), header, os.path.exists(header)]))
"""


@dataclass(frozen=True)
class Finding:
    """One line of the check: `todo` is empty where all is well."""

    what: str
    todo: str = ""

    def __str__(self) -> str:
        return f"missing: {self.what}: {self.todo}" if self.todo else f"ok: {self.what}"


def output(*command: str) -> str | None:
    """What a program prints; None if it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@contextmanager
def path_of_jobs() -> Iterator[None]:
    """PATH as jobs have it (workflow/rules/common.smk): the programs beside this Python come first."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def program(python: str) -> str | None:
    """The path of the program of a command in config/cluster.yaml; None where there is none."""
    return shutil.which(shlex.split(python)[0])


def ask(python: str, code: str) -> subprocess.CompletedProcess[str] | None:
    """What a Python does with some code, started as jobs start it; None where it does not end in time.

    `python` is a command of config/cluster.yaml; empty: this Python.
    """
    words = ["-m", "rlvr.run_in_env", "config/cluster.yaml", python] if python else []
    command = [sys.executable, *words, "-c", code]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None


def answer(python: str, code: str) -> Any:
    """The JSON that code prints last in a Python; None where it prints none."""
    done = ask(python, code)
    try:
        return json.loads(done.stdout.splitlines()[-1]) if done and done.returncode == 0 else None
    except (ValueError, IndexError):
        return None


def gpus(asked: int) -> Iterator[Finding]:
    """The driver, and as many GPUs as the job asked for on this node."""
    if found := drivers():
        yield driver(found[0])
    else:
        yield Finding("nvidia-smi does not answer", "the node has no GPU driver; set the partition of `kinds.gpu`")
    yield from compute_modes()
    count = visible_gpus()
    todo = "" if count == asked else "set `gpus` and `nodes` in config/cluster.yaml to what one node has"
    yield Finding(f"{count} GPUs of {asked} asked for on this node", todo)


def compute_modes() -> Iterator[Finding]:
    """The mode of this node's GPUs: trainer and rollouts are two processes on one GPU. Nothing if it is not known."""
    listed = output("nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader") or ""
    modes = {line.strip() for line in listed.splitlines()} & {"Default", "Exclusive_Process", "Prohibited"}
    for mode in sorted(modes):
        todo = "two processes must share a GPU: ask the site for `nvidia-smi -c DEFAULT`, or take another partition"
        yield Finding(f"compute mode {mode}", "" if mode == "Default" else todo)


def drivers() -> list[str]:
    """The version of the driver, once per GPU of this machine."""
    return (output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") or "").split()


def visible_gpus() -> int:
    """The GPUs that this process may use."""
    visible = _visible()
    return len(drivers() if visible is None else visible)


def hidden_gpus() -> bool:
    """Whether CUDA_VISIBLE_DEVICES names no GPU."""
    return _visible() == []


def _visible() -> list[str] | None:
    """The GPUs of CUDA_VISIBLE_DEVICES; None where it is not set. CUDA ignores what comes after a device of no name."""
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    named = takewhile(lambda device: device not in ("", "NoDevFiles") and device[0] != "-", (value or "").split(","))
    return None if value is None else list(named)


def driver(version: str) -> Finding:
    """NVIDIA's driver, which must be new enough for the locked torch."""
    todo = f"CUDA 13 needs driver {DRIVER}; ask the site, or use nodes with a newer one (`constraint`)"
    major = version.split(".")[0]
    return Finding(f"driver {version}", todo if major.isdecimal() and int(major) < DRIVER else "")


def glibc() -> Finding:
    version = platform.libc_ver()[1]
    old = tuple(map(int, version.split(".")[:2])) < GLIBC if version else False
    todo = f"packages need {GLIBC[0]}.{GLIBC[1]}; use the container of docs/cluster.md" if old else ""
    return Finding(f"glibc {version or 'is another C library'}", todo)


def environment(name: str, python: str) -> Iterator[Finding]:
    """Another Python: whether it starts, and whether it finds what Triton and inductor compile with."""
    where = f"environments.{name}: {python}"
    if program(python) is None:
        yield Finding(where, "no such program: `make install-cluster`, or the container")
        return
    yield from list(compiler(name, python)) or [Finding(where, "it does not start; try it by hand on the node")]
    if os.environ.get("VLLM_USE_FLASHINFER_SAMPLER") == "1":
        yield from cuda_compiler(name, python)


def compiler(name: str, python: str) -> Iterator[Finding]:
    """A C compiler and Python's headers where a Python runs, which may be a container; nothing if it does not say.

    Triton and inductor compile small C files on the node.
    """
    if tools := answer(python, TOOLS):
        found, header, there = tools
        todo = "" if found else "apt-get install gcc, or `module load gcc`"
        yield Finding(f"{name}: C compiler {found or 'none'}", todo)
        yield Finding(f"{name}: {header}", "" if there else "no Python.h: apt-get install python3-dev of this version")


def cuda_compiler(name: str, python: str) -> Iterator[Finding]:
    """nvcc where a Python runs, which FlashInfer's sampler needs; nothing if it does not say."""
    if found := answer(python, NVCC):
        todo = "" if found[0] else "VLLM_USE_FLASHINFER_SAMPLER=1 needs it: `module load cuda`, or unset that variable"
        yield Finding(f"{name}: CUDA compiler {found[0] or 'none'}", todo)


def temporary() -> Iterator[Finding]:
    """The folders of sockets: TMPDIR, and /tmp, where a run by verl has its own whatever TMPDIR says."""
    folder, most = tempfile.gettempdir(), SOCKET - IN_TMPDIR
    todo = f"sockets need at most {most}: set TMPDIR to a shorter folder of the node, or unset it"
    yield Finding(f"TMPDIR {folder} has {len(folder)} bytes", todo if len(os.fsencode(folder)) > most else "")
    try:
        with tempfile.TemporaryDirectory(dir=OF_RUNS) as own, socket.socket(socket.AF_UNIX) as probe:
            probe.bind(os.path.join(own, "socket"))
    except OSError as error:
        todo = "runs by verl have their sockets there: make it writable (a container: `--bind /tmp`)"
        yield Finding(f"socket in {OF_RUNS} ({error.strerror or error})", todo)


def other_rays() -> Iterator[Finding]:
    """Another Ray that a program without an address would join. Runs by verl start their own, so it is no obstacle."""
    address, noted = os.environ.get("RAY_ADDRESS"), Path(tempfile.gettempdir(), "ray", "ray_current_cluster")
    for where in (f"RAY_ADDRESS={address}" if address else "", str(noted) if noted.exists() else ""):
        if where:
            yield Finding(f"{where} names another Ray, which runs here do not join")


def locks(results: Path) -> Finding:
    """A lock on the results' file system, which keeps two jobs from training one run."""
    results.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.NamedTemporaryFile(dir=results, prefix=".check-") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        todo = "mount Lustre with `-o flock`, NFS as version 4, or set `--config results=` to another file system"
        return Finding(f"lock on {results} ({error.strerror})", todo)
    return Finding(f"lock on {results}")


def shared_memory(folder: str = "/dev/shm") -> Finding:
    if not Path(folder).is_dir():
        return Finding(folder, f"mount a tmpfs of {SHARED} GiB there")
    size = shutil.disk_usage(folder).total / 2**30
    todo = f"needs {SHARED} GiB; in a container pass --shm-size or --ipc=host" if size < SHARED else ""
    return Finding(f"{folder} has {size:.1f} GiB", todo)


def compiled() -> Finding:
    """Where Triton, vLLM and inductor keep what they compile."""
    folder = Path(os.environ.get("TRITON_CACHE_DIR", Path.home() / ".triton"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free / 2**30
    except OSError as error:
        return Finding(f"{folder} ({error.strerror})", "set TMPDIR to a folder on the node's own disk")
    return Finding(f"compiled kernels in {folder}, {free:.1f} GiB free")


def hub(models: list[str]) -> Finding:
    """The hub, or each model in the hub's cache; a model is `owner/name@revision`."""
    missing = [model for model in models if not _cached(*model.split("@"))]
    if not missing:
        return Finding(f"hub: all {len(models)} models are in the cache")
    address = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    try:
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        pass  # it answers
    except OSError as error:
        what = f"{len(missing)} of {len(models)} models ({missing[0]} first) are not in the cache"
        return Finding(f"hub: {address} cannot be reached ({error}), and {what}", FETCH)
    return Finding(f"hub: {address} answers; {len(missing)} of {len(models)} models are still to be fetched")


def cache(models: list[str]) -> Finding:
    """How many models a node sees in the hub's cache: as many as the node that fetches them, if they share it."""
    from huggingface_hub.constants import HF_HUB_CACHE

    there = sum(_cached(*model.split("@")) for model in models)
    return Finding(f"hub's cache {HF_HUB_CACHE} has {there} of {len(models)} models here")


def _cached(repository: str, revision: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(repository, "config.json", revision=revision), str)


def verifier(name: str) -> Finding:
    """Whether a verifier works: that of programs needs bubblewrap, in grading and in training."""
    from rlvr.verifiers import VerifierError, kind

    try:
        kind(name).check()
    except VerifierError as error:
        return Finding(f"verifier {name}", str(error))
    return Finding(f"verifier {name}")


def findings(
    asked: int,
    results: Path,
    pythons: list[str],
    models: list[str],
    verifiers: Iterable[str] = (),
    cached: list[str] | None = None,
) -> Iterator[Finding]:
    yield glibc()
    yield locks(results)
    yield from map(verifier, verifiers)
    if asked:
        yield from gpus(asked)
        yield shared_memory()
        yield from temporary()
        yield from other_rays()
        yield compiled()
        for entry in pythons:
            yield from environment(*entry.split("=", 1))
        if cached:
            yield cache(cached)
    if models:
        yield hub(models)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rlvr.workflow.node_check", description="Whether a node is fit.")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs that the job asked for on this node")
    parser.add_argument("--python", action="append", default=[], help="NAME=COMMAND of another environment")
    parser.add_argument("--model", action="append", default=[], help="OWNER/NAME@REVISION that this node fetches")
    parser.add_argument("--cached-model", action="append", default=[], help="the same, which another node fetches")
    parser.add_argument("--verifier", action="append", default=[], help="a verifier of the plan")
    parser.add_argument("--out", type=Path, required=True, help="file for the lines, in the results folder")
    given = parser.parse_args()
    lines = list(findings(given.gpus, given.out.parent, given.python, given.model, given.verifier, given.cached_model))
    text = "".join(f"{line}\n" for line in lines)
    print(f"node {platform.node()}\n{text}", end="", flush=True)
    if any(line.todo for line in lines):
        sys.exit(1)
    given.out.write_text(text)


if __name__ == "__main__":
    main()

"""The origin of a result: code, lock file, environment, machine, time.

A process collects this once, before it works. A run trained by several processes in turn keeps a `History` with its
checkpoints: its manifest names the processes that trained it, not the one that published it.
"""

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

Origin = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "envs"
OF_AN_ENVIRONMENT = "transformers"  # pinned by each lock of a complete environment, not by additions (test.txt)
OF_ENGINES = ("training/backends", "sampling/engines")  # folders whose members are named after packages
PACKAGES = ("torch", "transformers", "snakemake", "math-verify", "pandas", "numpy", "scipy")
NOT_RECORDED = "not recorded"
NO_CHECKOUT = "not a git checkout"
TIMES = ("started", "finished", "from_step", "parts")  # in which two processes of one origin may differ
PATIENCE = 30  # seconds for nvidia-smi, which hangs on a broken driver


# ---- one process ---------------------------------------------------------------------------------


def collect(**more: Any) -> Origin:
    """The origin of this process with further entries; collected at the first call, before the work."""
    return {**_of_this_process(), **more}


def at_once(origin: Origin) -> dict[str, Any]:
    """The provenance of a result that one process made and has just finished."""
    return {**origin, "continued": [], "finished": timestamp(time.time())}


@cache
def _of_this_process() -> Origin:
    installed = _installed()
    names = (*PACKAGES, *(engine for engine in _engines() if engine in installed))
    return {
        "commit": commit(),
        **lock_of(installed, LOCKS),
        "packages": {name: installed.get(name, "not installed") for name in names},
        "python": platform.python_version(),
        "processor": processor(),
        **_gpus(),
        "started": timestamp(time.time()),
    }


def timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@cache
def commit() -> str:
    """The commit of the working tree, with `+changes` if tracked files differ from it."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")) != ROOT:  # installed in another repository's folder
            return NO_CHECKOUT
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return NO_CHECKOUT


def _git(*arguments: str) -> str:
    options = {"cwd": ROOT, "env": {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}}
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, **options).stdout.strip()


# ---- the environment -----------------------------------------------------------------------------


def lock_of(installed: dict[str, str], folder: Path) -> dict[str, Any]:
    """The lock file of an environment, and the number of its pins that differ from the installed versions.

    It is the lock with the most pins among those that match in full; if none does, the closest one.
    """
    locks = {path: _pins(path) for path in sorted(folder.glob("*.txt"))}
    differs = {
        path: sum(not _holds(pin, installed.get(name)) for name, pin in pins.items())
        for path, pins in locks.items()
        if OF_AN_ENVIRONMENT in pins
    }
    if not differs:
        return {"lock": None, "lock_sha256": "no lock file", "lock_differs": None}
    # The first with the most matching pins minus others.
    path, differ = max(differs.items(), key=lambda item: (not item[1], len(locks[item[0]]) - 2 * item[1]))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return {"lock": f"{folder.name}/{path.name}", "lock_sha256": digest, "lock_differs": differ}


def _pins(path: Path) -> dict[str, str]:
    """Versions by name, from lines `name==version`, without markers and comments."""
    matches = re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;#]+)", path.read_text(), re.MULTILINE)
    return {_normal(name): version for name, version in matches}


def _holds(pin: str, installed: str | None) -> bool:
    """Whether a version matches a pin, as in pip: 2.13.0 without a local part also admits 2.13.0+cpu."""
    return installed is not None and pin == (installed if "+" in pin else installed.split("+")[0])


def _engines() -> list[str]:
    """Packages that train and sample, and Ray, which some of them use."""
    folders = [Path(__file__).parent / folder for folder in OF_ENGINES]
    return [*sorted({path.stem for folder in folders for path in folder.iterdir()}), "ray"]


def _installed() -> dict[str, str]:
    """Versions by normalised name; ten times faster than `importlib.metadata.version`, which parses descriptions."""
    versions: dict[str, str] = {}
    for distribution in distributions():
        head = (distribution.read_text("METADATA") or "").split("\n\n", 1)[0]
        name, version = (re.search(rf"^{key}: *(\S+)", head, re.MULTILINE) for key in ("Name", "Version"))
        if name and version:  # Python imports the first on the path
            versions.setdefault(_normal(name[1]), version[1])
    return versions


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# ---- the machine ---------------------------------------------------------------------------------


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _gpus() -> dict[str, Any]:
    """The GPUs that this process may use, their driver and its CUDA, and torch's CUDA where torch is loaded."""
    torch = sys.modules.get("torch")
    torch_cuda = {"cuda": getattr(getattr(torch, "version", None), "cuda", None)}
    devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    query = ("--query-gpu=index,uuid,name,memory.total,driver_version", "--format=csv,noheader")
    rows = [] if devices == "" else _nvidia_smi(*query)
    gpus = [[cell.strip() for cell in row.split(",")] for row in rows if row.count(",") == 4]
    selected = [word.strip() for word in (devices or "").split(",") if word.strip()]
    visible = [row for row in gpus if any(word == row[0] or row[1].startswith(word) for word in selected)] or gpus
    if not visible:
        return {"gpus": [], "driver": None, "driver_cuda": None, **torch_cuda}
    head = re.search(r"CUDA[\w ]*Version *: *([\d.]+)", "\n".join(_nvidia_smi()))
    return {
        "gpus": [{"name": name, "memory": memory} for _, _, name, memory, _ in visible],
        "driver": visible[0][4],
        "driver_cuda": head[1] if head else None,
        **torch_cuda,
    }


def _nvidia_smi(*arguments: str) -> list[str]:
    """Its output lines; empty without nvidia-smi or a driver."""
    try:
        process = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return process.stdout.splitlines() if process.returncode == 0 else []


# ---- several processes ---------------------------------------------------------------------------


def unknown() -> Origin:
    """The origin of results from before origins were recorded."""
    names = ("commit", "lock_sha256", "python", "processor", "started")
    nothing = {"lock": None, "lock_differs": None, "packages": {}, "gpus": []}
    return {**dict.fromkeys(names, NOT_RECORDED), **nothing}


def same(left: Origin, right: Origin) -> bool:
    """Whether two origins have the same code, environment and kind of machine."""
    ours, theirs = ({key: value for key, value in one.items() if key not in TIMES} for one in (left, right))
    return ours == theirs


class History:
    """The processes that trained a run's steps. `record` is stored with the run's state, and published.

    This process continues from `step`. It enters the history with its first step, so that a process which only
    publishes leaves no trace.
    """

    def __init__(self, record: dict[str, Any] | None, step: int, origin: Origin):
        self.step, self.origin, self._began = step, origin, time.time()
        before = [{"from_step": 0, **unknown()}] if step else []
        self.record = record or {"origins": before, "resumed_from": None, "began": None, "saved": None}

    def entered(self) -> dict[str, Any]:
        """The record to store before this process's first step, if it does not save its steps itself."""
        origins = [entry for entry in self.record["origins"] if entry["from_step"] < self.step]  # of steps that remain
        if not origins or not same(origins[-1], self.origin):
            origins.append({"from_step": self.step, **self.origin})
        self.record = {"origins": origins, "resumed_from": self.step, "began": self._began, "saved": None}
        return self.record

    def saved(self) -> dict[str, Any]:
        """The record to store with a step of this process."""
        self.record = {**self.entered(), "saved": time.time()}
        return self.record

    def over(self, at: float) -> dict[str, Any]:
        """The record of a run whose last step was saved at a time, if `saved` was not called."""
        self.record = {**self.record, "saved": self.record["saved"] or at}
        return self.record

    def published(self) -> dict[str, Any]:
        """Entries of a manifest, independent of the publishing process and its time."""
        (first, *later), began, saved = (self.record[key] for key in ("origins", "began", "saved"))
        finished = timestamp(saved) if saved else NOT_RECORDED
        return {
            "resumed_from": self.record["resumed_from"],
            "wall_seconds_last_process": round(saved - began, 3) if saved and began else None,
            "provenance": {**first, "continued": later, "finished": finished},
        }


def together(entries: Iterable[Origin]) -> list[Origin]:
    """The distinct origins with the number of `parts` of each, in order of their first start."""
    origins: list[Origin] = []
    for entry in entries:
        twin = next((origin for origin in origins if same(origin, entry)), None)
        if twin is None:
            origins.append({**entry})
        else:
            twin |= {"parts": twin["parts"] + entry["parts"], "started": min(twin["started"], entry["started"])}
    return sorted(origins, key=lambda origin: origin["started"])

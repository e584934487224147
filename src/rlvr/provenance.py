"""Where a number came from: code, lock file, environment, machine, time.

A process collects this once, before it works. A run that several processes trained, one after the other, keeps a
`History` with its checkpoints: what is published names those that trained it, not the one that published it.
"""

from __future__ import annotations

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
OF_AN_ENVIRONMENT = "transformers"  # pinned by each lock of a whole environment, by no list of additions (test.txt)
OF_ENGINES = ("training/backends", "sampling/engines")  # folders whose members have the names of the packages they call
PACKAGES = ("torch", "transformers", "snakemake", "math-verify", "pandas", "numpy", "scipy")
NOT_RECORDED = "not recorded"
NO_CHECKOUT = "not a git checkout"
TIMES = ("started", "finished", "from_step", "parts")  # what two processes of one origin may differ in
PATIENCE = 30  # seconds for nvidia-smi, which hangs where a driver is ill


# ---- one process ---------------------------------------------------------------------------------


def collect(**more: Any) -> Origin:
    """What does not change during a process; collected at the first call, which comes before the work."""
    return {**_of_this_process(), **more}


def at_once(origin: Origin) -> dict[str, Any]:
    """The provenance of what one process made from beginning to end, now that it is finished."""
    return {**origin, "continued": [], "finished": timestamp(time.time())}


@cache
def _of_this_process() -> Origin:
    installed = _installed()
    return {
        "commit": commit(),
        **lock_of(installed, LOCKS),
        "packages": {
            name: installed.get(name, "not installed")
            for name in (*PACKAGES, *(engine for engine in _engines() if engine in installed))
        },
        "python": platform.python_version(),
        "processor": processor(),
        **_gpus(),
        "started": timestamp(time.time()),
    }


def timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@cache
def commit() -> str:
    """The commit of the working tree, with `+changes` where tracked files differ from it."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")) != ROOT:  # installed into another repository's folder
            return NO_CHECKOUT
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return NO_CHECKOUT


def _git(*arguments: str) -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


# ---- the environment -----------------------------------------------------------------------------


def lock_of(installed: dict[str, str], folder: Path) -> dict[str, Any]:
    """The lock file that an environment was made from, and how many of its pins differ from what is installed.

    Of the locks that hold in full it is the one with the most pins; where none does, the one that comes closest.
    """
    best: tuple[tuple[bool, int], Path, int] | None = None
    for path in sorted(folder.glob("*.txt")):
        pins = _pins(path)
        if OF_AN_ENVIRONMENT not in pins:
            continue
        differ = sum(not _holds(pin, installed.get(name)) for name, pin in pins.items())
        rank = (not differ, len(pins) - 2 * differ)  # pins that hold, less those that do not
        if best is None or rank > best[0]:
            best = rank, path, differ
    if best is None:
        return {"lock": None, "lock_sha256": "no lock file", "lock_differs": None}
    _, path, differ = best
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return {"lock": f"{folder.name}/{path.name}", "lock_sha256": digest, "lock_differs": differ}


def _pins(path: Path) -> dict[str, str]:
    """Names and versions of the lines `name==version`; a marker or a comment behind them is left out."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;#]+)", path.read_text(), re.MULTILINE)
    return {_normal(name): version for name, version in found}


def _holds(pin: str, installed: str | None) -> bool:
    """As pip has it: a pin without a local part admits each build of its version (2.13.0 is 2.13.0+cpu too)."""
    return installed is not None and pin == (installed if "+" in pin else installed.split("+")[0])


def _engines() -> list[str]:
    """Packages that train and sample; Ray carries some of them."""
    folders = [Path(__file__).parent / folder for folder in OF_ENGINES]
    return [*sorted({path.stem for folder in folders for path in folder.iterdir()}), "ray"]


def _installed() -> dict[str, str]:
    """Versions by normalised name; ten times faster than `importlib.metadata.version`, which parses descriptions."""
    versions: dict[str, str] = {}
    for distribution in distributions():
        head = (distribution.read_text("METADATA") or "").split("\n\n", 1)[0]
        name, version = (re.search(rf"^{key}: *(\S+)", head, re.MULTILINE) for key in ("Name", "Version"))
        if name and version:  # the first on the path is the one that is imported
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
    own = {"cuda": getattr(getattr(torch, "version", None), "cuda", None)}
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    rows = (
        []
        if asked == ""
        else _nvidia_smi("--query-gpu=index,uuid,name,memory.total,driver_version", "--format=csv,noheader")
    )
    found = [[cell.strip() for cell in row.split(",")] for row in rows if row.count(",") == 4]
    named = [word.strip() for word in (asked or "").split(",") if word.strip()]
    visible = [row for row in found if any(word == row[0] or row[1].startswith(word) for word in named)] or found
    if not visible:
        return {"gpus": [], "driver": None, "driver_cuda": None, **own}
    head = re.search(r"CUDA[\w ]*Version *: *([\d.]+)", "\n".join(_nvidia_smi()))
    return {
        "gpus": [{"name": name, "memory": memory} for _, _, name, memory, _ in visible],
        "driver": visible[0][4],
        "driver_cuda": head[1] if head else None,
        **own,
    }


def _nvidia_smi(*arguments: str) -> list[str]:
    """The lines that it prints; none where there is none, or no driver."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


# ---- several processes ---------------------------------------------------------------------------


def unknown() -> Origin:
    """Of what was made before origins were kept with it."""
    names = ("commit", "lock_sha256", "python", "processor", "started")
    nothing = {"lock": None, "lock_differs": None, "packages": {}, "gpus": []}
    return {**dict.fromkeys(names, NOT_RECORDED), **nothing}


def same(left: Origin, right: Origin) -> bool:
    """Whether two are of one code, environment and kind of machine."""
    return _without_times(left) == _without_times(right)


def _without_times(origin: Origin) -> Origin:
    return {key: value for key, value in origin.items() if key not in TIMES}


class History:
    """Whose steps a run is made of. `kept` lies with the run's state, and is what is published.

    `step` is the one that this process goes on from. It enters the history with a step of its own, so that a process
    which only publishes leaves no trace.
    """

    def __init__(self, kept: dict[str, Any] | None, step: int, origin: Origin):
        self.step, self.origin, self._began = step, origin, time.time()
        before = [{"from_step": 0, **unknown()}] if step else []
        self.kept = kept or {"origins": before, "resumed_from": None, "began": None, "saved": None}

    def entered(self) -> dict[str, Any]:
        """What to keep before the first step of this process, where it does not save its steps itself."""
        origins = [entry for entry in self.kept["origins"] if entry["from_step"] < self.step]  # of steps that are kept
        if not origins or not same(origins[-1], self.origin):
            origins.append({"from_step": self.step, **self.origin})
        self.kept = {"origins": origins, "resumed_from": self.step, "began": self._began, "saved": None}
        return self.kept

    def saved(self) -> dict[str, Any]:
        """What to keep with a step that this process made."""
        self.kept = {**self.entered(), "saved": time.time()}
        return self.kept

    def over(self, at: float) -> dict[str, Any]:
        """What to keep of a run whose last step was saved at a time, where `saved` was not called."""
        self.kept = {**self.kept, "saved": self.kept["saved"] or at}
        return self.kept

    def published(self) -> dict[str, Any]:
        """Entries of a manifest: the same whichever process publishes, and whenever."""
        (first, *later), began, saved = (self.kept[key] for key in ("origins", "began", "saved"))
        finished = timestamp(saved) if saved else NOT_RECORDED
        return {
            "resumed_from": self.kept["resumed_from"],
            "wall_seconds_last_process": round(saved - began, 3) if saved and began else None,
            "provenance": {**first, "continued": later, "finished": finished},
        }


def together(entries: Iterable[Origin]) -> list[Origin]:
    """Different origins with the number of `parts` that each made, by the time at which the first of them started."""
    found: list[Origin] = []
    for entry in entries:
        like = next((origin for origin in found if same(origin, entry)), None)
        if like is None:
            found.append({**entry})
        else:
            like |= {"parts": like["parts"] + entry["parts"], "started": min(like["started"], entry["started"])}
    return sorted(found, key=lambda origin: origin["started"])

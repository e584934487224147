"""What is kept between calls of Snakemake: each call, and each job on a cluster, would make the plan again.

A plan is a function of the package's sources, the configuration and the arguments, of the installed packages (a
verifier's library has its version in identities), and of what this machine lacks. Their digest is its name in the
cache, so that a change of one of them makes a new plan.
"""

import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import rlvr
from rlvr.config.plan import Plan
from rlvr.config.registries import BACKENDS, ENGINES
from rlvr.files import publish
from rlvr.planning.expansion import make_plan

Value = TypeVar("Value")
FOLDER = Path(".snakemake/plans")  # of the working directory, where Snakemake keeps what it knows too
MOST = 40  # files that are kept
IMPORTED, SLACK = time.time(), 3.0  # seconds: other modules were imported a little before this one


def plan_of(root: Path, scale: str, papers: list[str], mine: str = "", own: str = "", folder: Path = FOLDER) -> Plan:
    """`make_plan`, from the cache where it has the plan. Raises ConfigError as that does.

    A plan of one's own file (`own`) is made each time: it reads folders of models.
    """
    if own:
        return make_plan(root, scale, papers, mine, own)
    return once(root, ("plan", scale, papers, mine), lambda: make_plan(root, scale, papers, mine), folder)


def once(root: Path, key: tuple[object, ...], make: Callable[[], Value], folder: Path = FOLDER) -> Value:
    """What `make` gives, from the cache where it has it: a function of `key` and of `_state`."""
    made_from = repr([str(root), key, _state(root)])
    file = folder / f"{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.pickle"
    found = _read(file)
    if found is None:
        found = (make(),)
        if _unchanged(root):
            _write(file, found)
    return found[0]


def _unchanged(root: Path) -> bool:
    """Whether no file has changed since this process imported the first: it would hold what was there before."""
    return all(file.stat().st_mtime < IMPORTED - SLACK for file in _sources(root))


def _state(root: Path) -> str:
    """A digest of sources, configuration, Python, installed packages, and what this machine lacks."""
    lacks = [kind.missing() for registry in (BACKENDS, ENGINES) for _, kind in registry.all()]
    found = hashlib.sha256(repr([sys.version, sorted(_installed()), lacks]).encode())
    for file in _sources(root):
        found.update(f"\0{file}\0".encode() + file.read_bytes())
    return found.hexdigest()


def _installed() -> Iterator[str]:
    """The installed packages, each with its version."""
    for folder in filter(os.path.isdir, sys.path):
        yield from (name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info")))


def _sources(root: Path) -> Iterator[Path]:
    """The files of the package and of the configuration, in a fixed order."""
    for folder in (Path(rlvr.__file__).parent, root / "config"):
        for parent, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            paths = (Path(parent, name) for name in sorted(files) if not name.endswith((".so", ".png")))
            yield from (path for path in paths if path.is_file())  # an editor's lock is a link to nowhere


def _read(file: Path) -> tuple[Any] | None:
    """What is kept, in a tuple; None where there is nothing, or what this user has not written, or a damaged file."""
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_uid != os.getuid():
                return None
            found = pickle.load(stream)
    except Exception:  # whatever a damaged pickle raises: it is made again
        return None
    return found if isinstance(found, tuple) and len(found) == 1 else None


def _write(file: Path, found: tuple[Any]) -> None:
    """Keep it, and the newest others. Where the folder cannot be written, or the disk is full, nothing is kept."""
    try:
        publish(file, pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL))
        by_age = sorted(file.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MOST:]:
            old.unlink(missing_ok=True)
    except (OSError, SystemExit):
        pass

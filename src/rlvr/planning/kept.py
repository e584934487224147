"""Plans that are kept between calls of Snakemake: each call, and each job on a cluster, would make the plan again.

A plan is a function of the package's sources, the configuration and the arguments, and of what this machine has of
trainers and samplers. Their digest is its name in the cache, so that a change of one of them makes a new plan.
"""

import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pydantic

import rlvr
from rlvr.config.plan import Plan
from rlvr.config.registries import BACKENDS, ENGINES
from rlvr.planning.expansion import make_plan

FOLDER = Path(".snakemake/plans")  # of the working directory, where Snakemake keeps what it knows too
MOST = 20  # plans that are kept


def plan_of(root: Path, scale: str, papers: list[str], mine: str = "", own: str = "", folder: Path = FOLDER) -> Plan:
    """`make_plan`, from the cache where it has the plan. Raises ConfigError as that does.

    A plan of one's own file (`own`) is made each time: it reads folders of models.
    """
    if own:
        return make_plan(root, scale, papers, mine, own)
    file = folder / f"{_digest(root, scale, papers, mine)}.pickle"
    plan = _read(file)
    if plan is None:
        plan = make_plan(root, scale, papers, mine)
        _write(file, plan)
    return plan


def _digest(root: Path, *arguments: object) -> str:
    machine = [kind.missing() for registry in (BACKENDS, ENGINES) for _, kind in registry.all()]
    found = hashlib.sha256(repr([sys.version, pydantic.VERSION, str(root), arguments, machine]).encode())
    for file in _sources(root):
        found.update(f"\0{file}\0".encode() + file.read_bytes())
    return found.hexdigest()[:32]


def _sources(root: Path) -> Iterator[Path]:
    """The files of the package and of the configuration, in a fixed order."""
    for folder in (Path(rlvr.__file__).parent, root / "config"):
        for parent, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            yield from (Path(parent, name) for name in sorted(files) if not name.endswith((".so", ".png")))


def _read(file: Path) -> Plan | None:
    """A kept plan; None where there is none, or one that this user has not written, or a damaged one."""
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_uid != os.getuid():
                return None
            plan = pickle.load(stream)
    except Exception:  # whatever a damaged pickle raises: the plan is made again
        return None
    return plan if isinstance(plan, Plan) else None


def _write(file: Path, plan: Plan) -> None:
    """Keep a plan, and the newest others. Where the folder cannot be written, nothing is kept."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".new", delete=False) as stream:
            pickle.dump(plan, stream, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(stream.name, file)
        by_age = sorted(file.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MOST:]:
            old.unlink(missing_ok=True)
    except OSError:
        pass

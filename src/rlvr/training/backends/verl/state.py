"""The folder that verl keeps a run's checkpoints in, as the stage and the trainer both see it. It imports no verl."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from rlvr.files import publish_json, read_json
from rlvr.provenance import History, Origin
from rlvr.training.lease import LEASE, MARK, is_of

KEPT = "rlvr.json"  # in a checkpoint: what verl does not keep
FINISHED = "finished.json"  # in the folder: all rows of a run that is over
HISTORY = "history.json"  # in the folder: whose steps its checkpoints are made of
STOP = "stop"  # in the folder: a file that asks to save and end


def keep_only(folder: Path, fingerprint: dict[str, Any]) -> None:
    """Empty a folder of checkpoints that are of something else, with a warning, and mark what it holds from now on."""
    mark = folder / MARK
    if mark.exists() and not is_of(read_json(mark), fingerprint):
        print(f"warning: {folder} holds checkpoints of another run; they are removed", file=sys.stderr, flush=True)
        for path in folder.iterdir():
            if path.name != LEASE:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    publish_json(mark, fingerprint)


def history_of(folder: Path, step: int, origin: Origin) -> History:
    """The history of what goes on from a step. It is written by the stage: verl saves in processes of its own."""
    path = folder / HISTORY
    return History(read_json(path) if path.exists() else None, step, origin)


class RunFolder:
    """A run's folder of checkpoints."""

    def __init__(self, folder: Path):
        self.folder, self.finished, self.stop = folder, folder / FINISHED, folder / STOP

    def steps(self) -> list[int]:
        """Steps of whole checkpoints: verl writes data.pt after all else but its note of the newest.

        That note may be cut off, or of one that is not whole.
        """
        whole = [path.parent for path in self.folder.glob("global_step_*/data.pt") if (path.parent / KEPT).exists()]
        return sorted(int(path.name.removeprefix("global_step_")) for path in whole)

    def step(self, number: int) -> Path:
        return self.folder / f"global_step_{number}"

    def rows(self) -> dict[str, list[dict[str, Any]]] | None:
        """Rows of metrics and probes, once the run is over."""
        return read_json(self.finished) if self.finished.exists() else None

"""verl's folder of a run's checkpoints, shared by stage and trainer. It does not import verl."""

import sys
from pathlib import Path
from typing import Any

from rlvr.files import publish_json, read_json, remove
from rlvr.policies.store import KEPT_OF_STEP
from rlvr.provenance import History, Origin
from rlvr.training import prune_checkpoints
from rlvr.training.lock_file import LEASE, MARK, is_of

EXTRAS = "rlvr.json"  # in a checkpoint: state that verl does not save
FINISHED = "finished.json"  # in the folder: all rows of a finished run
HISTORY = "history.json"  # in the folder: the processes that trained its checkpoints
KEPT = "kept"  # in the folder: the weights of probed steps, a file each
STOP = "stop"  # in the folder: its existence asks the trainer to save and stop


def keep_only(folder: Path, fingerprint: dict[str, Any]) -> None:
    """Remove checkpoints of another run from a folder, with a warning, and mark it with this fingerprint."""
    mark = folder / MARK
    if mark.exists() and not is_of(read_json(mark), fingerprint):
        print(f"warning: {folder} holds checkpoints of another run; they are removed", file=sys.stderr, flush=True)
        for path in folder.iterdir():
            if path.name != LEASE:
                remove(path)
    publish_json(mark, fingerprint)


def history_of(folder: Path, step: int, origin: Origin) -> History:
    """The history of a run that continues from a step. The stage writes it, as verl saves in its own processes."""
    path = folder / HISTORY
    return History(read_json(path) if path.exists() else None, step, origin)


def free(folder: Path, last: Path) -> None:
    """Free what a published policy does not need: optimizer, value model and reference, and older checkpoints."""
    older = [path for path in folder.glob("global_step_*") if path != last]
    prune_checkpoints.drop(folder, [*older, *sorted(last.rglob("optim_*.pt")), last / "critic", last / "reference"])


class RunFolder:
    """A run's folder of checkpoints."""

    def __init__(self, folder: Path):
        self.folder, self.finished, self.stop = folder, folder / FINISHED, folder / STOP
        self.recorded = folder / "rollouts"

    def kept(self, step: int) -> Path:
        """The file of a probed step's weights."""
        return self.folder / KEPT / KEPT_OF_STEP.format(step)

    def publish_kept(self, steps: list[int], folder: Path) -> None:
        """Move the weights of these steps to a folder; an earlier stage may have moved some. Raises SystemExit."""
        for step in steps:
            if (path := self.kept(step)).exists():
                path.replace(folder / path.name)
            elif not (folder / path.name).exists():
                raise SystemExit(f"{path}: missing, and probe.keep_weights wants the weights of this step")

    def steps(self) -> list[int]:
        """Steps of complete checkpoints: verl writes data.pt last, before its note of the newest.

        That note may be truncated, or name an incomplete checkpoint.
        """
        whole = [path.parent for path in self.folder.glob("global_step_*/data.pt") if (path.parent / EXTRAS).exists()]
        return sorted(int(path.name.removeprefix("global_step_")) for path in whole)

    def step(self, number: int) -> Path:
        return self.folder / f"global_step_{number}"

    def rows(self) -> dict[str, list[dict[str, Any]]] | None:
        """Rows of metrics and probes of a finished run; None before its end."""
        return read_json(self.finished) if self.finished.exists() else None

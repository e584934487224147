"""Checkpoints to resume from: written to a temporary folder, checked by checksum, renamed into place.

A checkpoint is a folder `step-000010` with `tensors.pt` (model and optimizer), `state.json` (step, counters of
the keyed random streams, controller state, history of processes), `metrics.jsonl` and `probe.jsonl` up to that step,
and `SHA256SUMS`. Their folder is a parameter of a job, never an output: Snakemake deletes the outputs of a failed job.
All randomness in training is a function of (seed, counter), so the counters are the random state.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rlvr import provenance
from rlvr.files import publish_json, read_json, read_lines, sha256, whole
from rlvr.training import prune_checkpoints
from rlvr.training.lock_file import MARK, is_of, lease

SUMS = "SHA256SUMS"
TO_PUBLISH = ("model", "best", "kept")  # tensors of a finished run; the others are for training on


@dataclass
class Snapshot:
    """All that training needs to continue from a step."""

    step: int
    tensors: dict[str, Any]
    state: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]  # of metrics.jsonl and probe.jsonl


class Checkpoints:
    """The checkpoints of one run, for the holder of their lease.

    `fingerprint` identifies the run (its id and its initial weights). Taking the lease removes checkpoints of another
    run from the folder, with a warning.
    """

    def __init__(
        self, folder: Path, fingerprint: dict[str, Any], *, keep: int = 2, origin: provenance.Origin | None = None
    ):
        self.folder, self.fingerprint, self.keep = folder, fingerprint, keep
        self.origin = origin or provenance.collect()
        self.history = provenance.History(None, 0, self.origin)

    def save(self, snapshot: Snapshot) -> Path:
        final = self.folder / f"step-{snapshot.step:06d}"
        with whole(final) as partial:
            partial.mkdir()
            # torch hides the cause of a failed write if it opens the file itself.
            with open(partial / "tensors.pt", "wb") as file:
                torch.save(snapshot.tensors, file)
            state = {"step": snapshot.step, "history": self.history.saved(), **snapshot.state}
            (partial / "state.json").write_text(json.dumps(state, sort_keys=True))
            for name, rows in snapshot.rows.items():
                (partial / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            sums = {path.name: sha256(path) for path in sorted(partial.iterdir())}
            (partial / SUMS).write_text(json.dumps(sums, indent=1))
            for path in [*partial.iterdir(), partial]:
                _flush(path)
        _flush(self.folder)
        for old in self._saved()[: -self.keep]:
            shutil.rmtree(old)
        return final

    def latest(self) -> Snapshot | None:
        """The newest undamaged checkpoint, whose history continues; warns of each damaged one.

        Its tensors are read from its file when they are used: copy what is to outlive the checkpoint.
        """
        for leftover in self.folder.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        for path in reversed(self._saved()):
            damage = _damage(path)
            if damage is None:
                state = read_json(path / "state.json")
                step = state.pop("step")
                self.history = provenance.History(state.pop("history", None), step, self.origin)
                tensors = torch.load(path / "tensors.pt", map_location="cpu", weights_only=True, mmap=True)
                rows = {p.stem: list(read_lines(p)) for p in sorted(path.glob("*.jsonl"))}
                return Snapshot(step, tensors, state, rows)
            warn(f"checkpoint {path} is damaged ({damage}); going back to the one before it")
        return None

    def retire(self) -> None:
        """Free what a published run does not need: older checkpoints, and other tensors than TO_PUBLISH."""
        *older, newest = self._saved()
        prune_checkpoints.drop(self.folder, older)  # first, since the smaller file needs room beside the larger one
        path = newest / "tensors.pt"
        before, tensors = path.stat().st_size, torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        with whole(path) as partial, open(partial, "wb") as file:
            torch.save({name: tensors[name] for name in TO_PUBLISH if name in tensors}, file)
        publish_json(newest / SUMS, {**read_json(newest / SUMS), path.name: sha256(path)})
        prune_checkpoints.drop(self.folder, [], more=before - path.stat().st_size)

    def _saved(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Hold the folder, then remove checkpoints of another run, which may have been at work until then."""
        with lease(self.folder):
            mark = self.folder / MARK
            if mark.exists() and not is_of(read_json(mark), self.fingerprint):
                warn(f"{self.folder} holds checkpoints of another run; they are removed and the run starts afresh")
                for path in self._saved():
                    shutil.rmtree(path)
            publish_json(mark, self.fingerprint)
            yield


def _damage(path: Path) -> str | None:
    try:
        sums = json.loads((path / SUMS).read_text())
    except (OSError, json.JSONDecodeError) as error:
        return f"{SUMS}: {type(error).__name__}"
    for name, expected in sums.items():
        if not (path / name).is_file() or sha256(path / name) != expected:
            return f"{name} does not match its checksum"
    return None


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr, flush=True)

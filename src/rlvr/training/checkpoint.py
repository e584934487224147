"""Checkpoints to resume from: written beside, checked by checksum, renamed into place.

A checkpoint is a folder `step-000010` with `tensors.pt` (model and optimizer), `state.json` (step, counters of
the keyed random streams, controller state), `metrics.jsonl` and `probe.jsonl` up to that step, and `SHA256SUMS`.
The folder that holds them is a parameter of a job, never an output: Snakemake deletes the outputs of a job that
fails. All randomness in training is a function of (seed, counter), so the counters are the random state.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rlvr.records import publish_json, read_json, read_lines, sha256, whole

SUMS = "SHA256SUMS"


@dataclass
class Snapshot:
    """All that training needs to go on from a step."""

    step: int
    tensors: dict[str, Any]
    state: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]  # of metrics.jsonl and probe.jsonl


class Checkpoints:
    """The checkpoints of one run.

    `fingerprint` names what the run is (its id and the weights that it starts from): checkpoints of another
    one in the same folder are removed, with a warning.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, str], *, keep: int = 2):
        self.folder, self.keep = folder, keep
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / "fingerprint.json"
        if mark.exists() and read_json(mark) != fingerprint:
            warn(f"{folder} holds checkpoints of another run; they are removed and the run starts afresh")
            for path in self._saved():
                shutil.rmtree(path)
        publish_json(mark, fingerprint)

    def save(self, snapshot: Snapshot) -> Path:
        final = self.folder / f"step-{snapshot.step:06d}"
        with whole(final) as partial:
            partial.mkdir()
            with open(partial / "tensors.pt", "wb") as file:  # torch hides why a write fails where it opens the file
                torch.save(snapshot.tensors, file)
            (partial / "state.json").write_text(json.dumps({"step": snapshot.step, **snapshot.state}, sort_keys=True))
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
        """The newest whole checkpoint; damaged ones are passed over, with a warning each."""
        for leftover in self.folder.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        for path in reversed(self._saved()):
            damage = _damage(path)
            if damage is None:
                state = read_json(path / "state.json")
                step = state.pop("step")
                tensors = torch.load(path / "tensors.pt", map_location="cpu", weights_only=True)
                rows = {p.stem: list(read_lines(p)) for p in sorted(path.glob("*.jsonl"))}
                return Snapshot(step, tensors, state, rows)
            warn(f"checkpoint {path} is damaged ({damage}); going back to the one before it")
        return None

    def _saved(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))

    def lease(self) -> AbstractContextManager[None]:
        return lease(self.folder)


@contextmanager
def lease(folder: Path) -> Iterator[None]:
    """Hold a folder that resumable work keeps its state in. The system frees it at a kill.

    A second process on the same work fails at once; as a Slurm job it waits, since a Snakemake that was killed and
    started again submits a run whose first job still trains.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lease", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            held = f"{folder} is in use by another process ({file.read().strip()})"
            if "SLURM_JOB_ID" not in os.environ:
                sys.exit(held)
            print(f"{held}; waiting for it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        job = os.environ.get("SLURM_JOB_ID", "none")
        file.write(f"host {os.uname().nodename}, process {os.getpid()}, job {job}")
        file.flush()
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

"""Training backends (`rlvr.config.registries.BackendKind`). One module or package each, which imports without the
backend's own environment."""

from pathlib import Path

from rlvr.config.registries import BACKENDS


def steps(state: Path) -> list[int]:
    """Steps of the checkpoints in a folder, of any backend."""
    return [step for _, backend in BACKENDS.all() for step in backend.steps(state)]

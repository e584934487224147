"""Bytes on disk of a run and an SFT: what its checkpoints take while it goes on, and what it leaves."""

from dataclasses import dataclass

from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import RunSpec

SAVED = 12  # bytes per parameter in a checkpoint: float32 weights and two moments
SFT_CHECKPOINTS = 3  # of an SFT at the same time


@dataclass(frozen=True)
class Disk:
    """Bytes: `left` after the job, `beside` that while it goes on; `checkpoint` is the size of one checkpoint."""

    left: float
    beside: float
    checkpoint: float


def of_run(spec: RunSpec, execution: Execution, parameters: float, steps: int) -> Disk:
    """The bytes of an RL run on a model of so many parameters."""
    # Some runs save in addition a moving reference, or the best policy so far.
    more = 4 * bool(spec.rl.reference_reset) + 4 * (spec.selection.rule == "best_validation")
    checkpoint = parameters * ((1 + (spec.critic is not None)) * SAVED + more)
    # A checkpoint is written before the oldest is deleted; a finished run keeps the newest's weights.
    held = min(steps // execution.save_every, execution.keep_checkpoints + 1)
    kept = parameters * _width(spec.rl.backend) * len(spec.kept_steps)
    return Disk(parameters * _final(spec.rl.backend) + kept, held * checkpoint, checkpoint)


def of_sft(backend: str, parameters: float) -> Disk:
    """The bytes of an SFT on a model of so many parameters."""
    checkpoint = parameters * SAVED
    return Disk(parameters * _final(backend), SFT_CHECKPOINTS * checkpoint, checkpoint)


def _final(backend: str) -> int:
    """Bytes per parameter of a finished run: its policy, and its newest checkpoint's weights."""
    return _width(backend) + 4


def _width(backend: str) -> int:
    """Bytes per parameter of a policy: verl's have bfloat16."""
    return 2 if backend == "verl" else 4

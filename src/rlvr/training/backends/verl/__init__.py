"""verl (Ray, FSDP, vLLM) as a backend: the same run specification in, verl's own trainer behind its public seams."""

from __future__ import annotations

from pathlib import Path

from rlvr.training.backends import Stage

LOGICAL_CPUS = 64  # of a node, for Ray's count: verl's queue and workers ask for many and use few, and wait in silence
STAGES = {
    "rl": Stage(f"{__name__}.rl", devices=True, launcher=f"{__name__}.ray_nodes --num-cpus {LOGICAL_CPUS}"),
    "sft": Stage(f"{__name__}.sft", devices=True),
}
CRITIC = True


def steps(state: Path) -> list[int]:
    from rlvr.training.backends.verl.state import RunFolder

    noted = state / "latest_checkpointed_iteration.txt"  # of SFT
    return [*RunFolder(state).steps(), *([int(noted.read_text())] if noted.exists() else [])]

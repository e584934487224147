"""verl (Ray, FSDP, vLLM) as a backend: verl's own trainer, with methods overridden, runs our specifications."""

from pathlib import Path

from rlvr.config.registries import BackendKind, Stage

LOGICAL_CPUS = 64  # per node, as Ray counts: verl's queue and workers ask for many, use few, and else wait silently
_STAGES = {
    "rl": Stage(f"{__name__}.rl", devices=True, launcher=f"{__name__}.ray_nodes --num-cpus {LOGICAL_CPUS}"),
    "sft": Stage(f"{__name__}.sft", devices=True),
}


def steps(state: Path) -> list[int]:
    from rlvr.training.backends.verl.state import RunFolder

    note = state / "latest_checkpointed_iteration.txt"  # of SFT
    return [*RunFolder(state).steps(), *([int(note.read_text())] if note.exists() else [])]


# Version 2: seeds of rollouts that overlap neither between runs nor after a resume.
BACKEND = BackendKind(stages=_STAGES, steps=steps, critic=True, weights=True, version=2)

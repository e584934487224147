"""Training in the stage's own process, on one device."""

from pathlib import Path

from rlvr.training.backends import Stage

STAGES = {"rl": Stage("rlvr.training.rl"), "sft": Stage("rlvr.training.sft")}


def steps(state: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in state.glob("step-*")]

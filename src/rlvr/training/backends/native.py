"""Training in the stage's own process by the native engine, on one CPU core (docs/engine.md)."""

from pathlib import Path
from typing import Any

from rlvr.policies.native import library
from rlvr.policies.native.model import Unsupported
from rlvr.policies.store import Policy
from rlvr.training.backends import Stage

CRITIC = True
WEIGHTS = True
STAGES = {"rl": Stage("rlvr.training.rl"), "sft": Stage("rlvr.training.sft")}
VERSION = 1  # increase it when the engine changes the numbers of training
INSTEAD = "in_process"  # where the engine is not built
PRECISIONS = ("float32",)
DEVICES = ("cpu",)
MODULES = ("torch", "safetensors", "tokenizers")


def missing() -> str | None:
    return library.missing()


def steps(state: Path) -> list[int]:
    return []  # the folders of in_process, which counts them


def origin() -> dict[str, Any]:
    try:
        return {"device": "cpu", "engine": f"native {VERSION}, {library.level()}"}
    except library.NoEngine as error:
        raise SystemExit(str(error)) from error


def policy(manifest: Path) -> Policy:
    from rlvr.policies.native.trained import load

    try:
        return load(manifest)
    except Unsupported as error:
        raise SystemExit(f"the backend native: {error}") from error

"""Training in the stage's own process by the native engine, on one CPU core (docs/engine.md)."""

from pathlib import Path
from typing import Any

from rlvr.config.registries import BackendKind
from rlvr.policies.native import library
from rlvr.policies.native.model import Unsupported
from rlvr.policies.store import Policy
from rlvr.training.backends.in_process import STAGES

VERSION = 2  # increase it when the engine changes the numbers of training


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


BACKEND = BackendKind(  # its checkpoints are in the folders of in_process, which counts them
    stages=STAGES,
    critic=True,
    weights=True,
    policy=policy,
    origin=origin,
    version=VERSION,
    missing=library.missing,
    instead="in_process",  # where the engine is not built
    precisions=("float32",),
    devices=("cpu",),
    sft_threads=2,
    modules=("torch", "safetensors", "tokenizers"),
)

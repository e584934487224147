"""A published model in the hub's cache, at its commit."""

from pathlib import Path
from typing import Any

from rlvr.config.registries import SourceKind
from rlvr.config.schema.models_and_data import HubModel
from rlvr.policies import hub
from rlvr.policies.sources import Unbuildable


def build(model: HubModel, out: Path, path: str) -> dict[str, Any]:
    if not model.pinned:  # a branch changes, and no identity would show it
        raise Unbuildable(
            f"config/models.yaml: {model.name}.revision: {model.revision!r} of {model.repo} is a branch; "
            f"run `rlvr models resolve {model.name}`, which writes its commit to config/revisions.yaml"
        )
    try:
        snapshot = hub.fetch(model)
    except hub.HubError as error:
        raise Unbuildable(str(error)) from error
    source = {"repo": model.repo, "commit": model.revision, "dtype": model.dtype}
    return {"hub": source, "snapshot": snapshot, "template": model.template}


SOURCE = SourceKind(build)

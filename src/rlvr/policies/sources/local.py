"""A model in a folder of this machine, whose files are those of the plan."""

from pathlib import Path
from typing import Any

from rlvr.config import model_folder
from rlvr.config.registries import SourceKind
from rlvr.config.schema.models_and_data import LocalModel
from rlvr.files import sha256
from rlvr.policies.sources import Unbuildable
from rlvr.policies.store import entries_of


def build(model: LocalModel, out: Path, path: str) -> dict[str, Any]:
    folder = Path(path).resolve()
    if lack := model_folder.missing(folder):
        raise Unbuildable(lack)
    for name, expected in model.files.items():
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise Unbuildable(f"{folder / name}: changed since this run was planned; give the same command again")
    return entries_of(out, folder, model.files, model.template)


SOURCE = SourceKind(build)

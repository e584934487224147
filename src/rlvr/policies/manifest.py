"""A policy's identity by its manifest, for stages that load no model."""

from pathlib import Path
from typing import Any

from rlvr.files import read_json


def fingerprint(manifest: Path) -> dict[str, Any]:
    """A policy's identity: checksums of its files, or repository and commit on the hub, and its template."""
    content = read_json(manifest)
    return {key: content.get(key) for key in ("files", "hub", "template")}

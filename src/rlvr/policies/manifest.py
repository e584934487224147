"""What a policy is, as its manifest says, for stages that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlvr.files import read_json


def fingerprint(manifest: Path) -> dict[str, Any]:
    """What makes a policy this one: checksums of its files, or repository and commit on the hub, and its template."""
    content = read_json(manifest)
    return {key: content.get(key) for key in ("files", "hub", "template")}

"""Sources of models. One module each; its name is the `source` of an entry of config/models.yaml.

A module has

    build(model, out, path) -> entries   of the manifest `out`, for a model of its schema (rlvr.config.schema.names);
                                         `path` is the entry's, empty for most

Files are written beside the manifest. A mistake or a missing file is an `Unbuildable`.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Build = Callable[[Any, Path, str], dict[str, Any]]


class Unbuildable(RuntimeError):
    """A model that cannot be made; the message says in one line what to do."""


def load(source: str) -> Build:
    return importlib.import_module(f"rlvr.policies.sources.{source}").build

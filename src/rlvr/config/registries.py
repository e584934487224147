"""Folders that are registries, and what their members declare, read from source: planning imports no torch and no
reader of data sets."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]
_NOTHING = object()


@cache
def _files(folder: str) -> dict[str, Path]:
    """The modules and packages of a folder, without shared parts, whose names begin with an underscore."""
    paths = sorted([*(_PACKAGE / folder).glob("[a-z]*.py"), *(_PACKAGE / folder).glob("[a-z]*/__init__.py")])
    return {path.parent.name if path.name == "__init__.py" else path.stem: path for path in paths}


def members(folder: str) -> tuple[str, ...]:
    """The names of a folder's members (`data/adapters`)."""
    return tuple(_files(folder))


@cache
def constant(folder: str, member: str, name: str, otherwise: Any = _NOTHING) -> Any:
    """The value that a member assigns to a name, else `otherwise`. Raises LookupError where there is neither."""
    for node in ast.parse(_files(folder)[member].read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if target is not None and ast.unparse(target) == name and isinstance(node, (ast.Assign, ast.AnnAssign)):
            return ast.literal_eval(node.value)  # type: ignore[arg-type]
    if otherwise is _NOTHING:
        raise LookupError(f"{folder}/{member}: no {name}")
    return otherwise


def environment(engine: str) -> str | None:
    """The environment of config/cluster.yaml for an engine; None: the workflow's own."""
    return constant("sampling/engines", engine, "ENVIRONMENT")


def environments() -> tuple[str, ...]:
    """What a site may name a Python for: engines and backends that do not run in the workflow's own."""
    engines = {engine: environment(engine) for engine in members("sampling/engines")}
    others = (backend for backend in backends() if engines.get(backend, backend) is not None)
    return tuple(dict.fromkeys((*others, *filter(None, engines.values()))))


def backends() -> tuple[str, ...]:
    """The members of rlvr.training.backends."""
    return members("training/backends")


def with_weights() -> tuple[str, ...]:
    """The backends that can read and set a policy's weights between steps."""
    return tuple(name for name in backends() if constant("training/backends", name, "WEIGHTS", False))


def with_critic() -> tuple[str, ...]:
    """The backends that train a value model."""
    return tuple(name for name in backends() if constant("training/backends", name, "CRITIC", False))

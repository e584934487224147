"""Names that code defines and configuration uses, read from source: planning imports neither torch nor readers."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def analytic_contents() -> tuple[str, ...]:
    """The functions that CONTENTS of rlvr.theory.analytic lists."""
    tree = ast.parse((_PACKAGE / "theory" / "analytic.py").read_text())
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    listed = {node.id for node in ast.walk(_value_of(tree, "CONTENTS")) if isinstance(node, ast.Name)}
    return tuple(name for name in defined if name in listed)


@cache
def chapters() -> tuple[str, ...]:
    """The papers whose statements rlvr.theory checks: modules with a `chapter`."""
    return tuple(path.stem for path in sorted((_PACKAGE / "theory").glob("*.py")) if "\nchapter = " in path.read_text())


@cache
def backends() -> tuple[str, ...]:
    """What carries out training: the modules and packages of rlvr.training.backends."""
    return _members("training/backends")


@cache
def with_critic() -> tuple[str, ...]:
    """The backends that train a value model."""
    folder = _PACKAGE / "training" / "backends"
    return tuple(name for name in backends() if "\nCRITIC = True\n" in _source(folder / name))


@cache
def environments() -> tuple[str, ...]:
    """What a site may name a Python for: backends, and engines that sample."""
    return tuple(dict.fromkeys((*backends(), *_members("sampling/engines"))))


def _members(folder: str) -> tuple[str, ...]:
    paths = sorted((_PACKAGE / folder).iterdir())
    names = (path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").is_file())
    return tuple(name for name in names if not name.startswith("_"))


def _source(module: Path) -> str:
    return (module / "__init__.py" if module.is_dir() else module.with_suffix(".py")).read_text()


@cache
def adapter_fields(adapter: str) -> tuple[str, ...]:
    """Our names of the fields that an adapter of rlvr.data.adapters reads."""
    tree = ast.parse((_PACKAGE / "data" / "adapters" / f"{adapter}.py").read_text())
    return tuple(ast.literal_eval(_value_of(tree, "FIELDS")))


def _value_of(tree: ast.Module, name: str) -> ast.expr:
    """What a module assigns to a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value is not None:
            return node.value
    raise LookupError(name)

"""Names that code defines and configuration uses, read from source: planning imports neither torch nor readers."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def analytic_contents() -> tuple[str, ...]:
    """The closed forms that analytic tables and figures show: the modules of rlvr.theory.closed_forms."""
    return tuple(_modules("theory/closed_forms"))


@cache
def chapters() -> tuple[str, ...]:
    """The papers whose statements rlvr.theory checks: modules, or packages, with a `chapter`."""
    return tuple(name for name, file in _modules("theory").items() if "\nchapter = " in file.read_text())


def _modules(folder: str) -> dict[str, Path]:
    """The files of a folder's modules and packages by name; those of `_` names are shared parts, and left out."""
    paths = sorted([*(_PACKAGE / folder).glob("[!_]*.py"), *(_PACKAGE / folder).glob("[!_]*/__init__.py")])
    return {path.parent.name if path.name == "__init__.py" else path.stem: path for path in paths}


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

"""Names that code defines and configuration uses, read from source: planning imports neither torch nor readers."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def members(folder: str) -> tuple[str, ...]:
    """The names of a folder's modules (`data/adapters`); one with an underscore in front is no member."""
    return tuple(sorted(path.stem for path in (_PACKAGE / folder).glob("[a-z]*.py")))


@cache
def constant(folder: str, member: str, name: str) -> Any:
    """What a member of a folder assigns to a name. Raises LookupError where it assigns nothing."""
    return ast.literal_eval(_value_of(_tree(folder, member), name))


def environment(engine: str) -> str | None:
    """The environment of config/cluster.yaml that an engine runs in; None: the workflow's own."""
    return constant("sampling/engines", engine, "ENVIRONMENT")


@cache
def analytic_contents() -> tuple[str, ...]:
    """The functions that CONTENTS of rlvr.theory.analytic lists."""
    tree = _tree("theory", "analytic")
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    listed = {node.id for node in ast.walk(_value_of(tree, "CONTENTS")) if isinstance(node, ast.Name)}
    return tuple(name for name in defined if name in listed)


@cache
def chapters() -> tuple[str, ...]:
    """The papers whose statements rlvr.theory checks: modules with a `chapter`."""
    return tuple(path.stem for path in sorted((_PACKAGE / "theory").glob("*.py")) if "\nchapter = " in path.read_text())


def _tree(folder: str, member: str) -> ast.Module:
    return ast.parse((_PACKAGE / folder / f"{member}.py").read_text())


def _value_of(tree: ast.Module, name: str) -> ast.expr:
    """What a module assigns to a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value is not None:
            return node.value
    raise LookupError(name)

"""Pages of the API, from the source: signatures and docstrings of public modules. Nothing is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

from docstrings import markdown

from rlvr.report.text import escape

SOURCE = Path(__file__).resolve().parents[2] / "src" / "rlvr"
# Folders below src/rlvr, each a page of its modules. A name with an underscore is not public.
PAGES = ("estimators", "training/losses", "statistics", "claims", "verifiers", "adapters")
Documented = ast.FunctionDef | ast.ClassDef


def write(out: Path) -> None:
    """Writes the pages."""
    out.mkdir(parents=True)
    for folder in (SOURCE / place for place in PAGES):
        modules = sorted(folder.rglob("*.py"), key=lambda path: (path.stem != "__init__", path))
        parts = [f"# {folder.name.capitalize()}\n", *map(_module, modules)]
        (out / f"{folder.name}.md").write_text("\n".join(parts))


def _module(path: Path) -> str:
    """A module's heading, docstring and public members; empty for a module that is private or says nothing."""
    tree = ast.parse(path.read_text())
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    members = list(_public(tree.body))
    private = path.stem.startswith("_") and path.stem != "__init__"
    if private or not (members or ast.get_docstring(tree)):
        return ""
    lines = [f"## {escape(name)}\n", markdown(ast.get_docstring(tree) or "")]
    lines += [_member(name, member) for member in members]
    return "\n".join(lines) + "\n"


def _public(body: list[ast.stmt]) -> Iterator[Documented]:
    for node in body:
        if isinstance(node, Documented) and not node.name.startswith("_") and ast.get_docstring(node):
            yield node


def _member(module: str, node: Documented) -> str:
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    lines = [f"::::{{py:{kind}}} {node.name}{_signature(node)}", f":module: {module}\n"]
    lines += [markdown(ast.get_docstring(node) or "")]
    for inner in _public(node.body) if isinstance(node, ast.ClassDef) else ():
        if isinstance(inner, ast.FunctionDef):
            head = f"\n:::{{py:method}} {inner.name}{_signature(inner)}\n"
            lines += [head, markdown(ast.get_docstring(inner) or ""), ":::"]
    return "\n".join([*lines, "::::\n"])


def _signature(node: Documented) -> str:
    """A function's arguments and result; of a class those of its constructor."""
    if isinstance(node, ast.ClassDef):
        made = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
        return _signature(made[0]).removesuffix(" -> None") if made else ""
    bare = ast.parse(ast.unparse(node.args).join(("def f(", "): pass"))).body[0]
    assert isinstance(bare, ast.FunctionDef)
    arguments = bare.args
    everyone = [*arguments.posonlyargs, *arguments.args]
    if everyone and everyone[0].arg in ("self", "cls"):
        (arguments.posonlyargs or arguments.args).pop(0)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(arguments)}){result}"

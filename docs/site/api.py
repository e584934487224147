"""Pages of the API, from the source: signatures and docstrings of public modules. Nothing is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

from docstrings import markdown

from rlvr.report.text import escape

SOURCE = Path(__file__).resolve().parents[2] / "src" / "rlvr"
# A page, its title, and the modules on it: files or folders below src/rlvr. A name with an underscore is not public.
PAGES = {
    "estimators": ("Estimators", ["estimators"]),
    "losses": ("Losses", ["training/losses"]),
    "statistics": ("Statistics", ["statistics"]),
    "claims": ("Claims", ["claims"]),
    "verifiers": ("Verifiers", ["verifiers"]),
    "adapters": ("Adapters", ["adapters"]),
}
Documented = ast.FunctionDef | ast.ClassDef


def write(out: Path) -> list[str]:
    """Writes the pages and returns their names."""
    out.mkdir(parents=True)
    for name, (title, places) in PAGES.items():
        modules = [path for place in places for path in _modules(SOURCE / place)]
        (out / f"{name}.md").write_text("\n".join([f"# {title}\n", *(_module(path) for path in modules)]))
    return list(PAGES)


def _modules(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(place.rglob("*.py"), key=lambda path: (path.stem != "__init__", path))


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
            lines += [
                f"\n:::{{py:method}} {inner.name}{_signature(inner)}\n",
                markdown(ast.get_docstring(inner) or ""),
                ":::",
            ]
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

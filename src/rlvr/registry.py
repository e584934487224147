"""Registries: a folder of modules whose file names are names in configuration. No list repeats them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Generic, TypeVar

PACKAGE = Path(__file__).resolve().parent
PAPERS = "papers"  # packages of papers: each may have a folder of the same name

Member = TypeVar("Member")


class NoMember(LookupError):
    """A module of a registry that does not define its member."""


class Registry(Generic[Member]):
    """The members of a folder of this package, and of the folder of the same name in each paper's package.

    A module defines its member, an object of one type, under `attribute`: `Registry[Table]("tables", "TABLE")` has a
    member for each `TABLE` in rlvr/tables/*.py and rlvr/papers/*/tables/*.py. Modules whose names begin with an
    underscore are shared parts, and so are those in `but`.
    """

    def __init__(self, folder: str, attribute: str, but: tuple[str, ...] = ()):
        self.folder, self.attribute, self.but = folder, attribute, but
        self._loaded: dict[str, Member] = {}

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {name: module for name, module in _modules(self.folder).items() if name not in self.but}

    def names(self) -> tuple[str, ...]:
        """The names of the members, in order. No member is imported."""
        return tuple(self._modules)

    def module(self, name: str) -> str:
        """The module of a member, as `python -m` names it. Raises KeyError for an unknown name."""
        return self._modules[name]

    def load(self, name: str) -> Member:
        """The member. Raises KeyError for an unknown name, NoMember where its module defines none."""
        if name not in self._loaded:
            module = importlib.import_module(self.module(name))
            if not hasattr(module, self.attribute):
                raise NoMember(f"{module.__file__} defines no {self.attribute}")
            self._loaded[name] = getattr(module, self.attribute)
        return self._loaded[name]

    def all(self) -> Iterator[tuple[str, Member]]:
        """Each name with its member."""
        return ((name, self.load(name)) for name in self.names())


class OfPapers(Registry[Member]):
    """One module or package in each paper's package; a member's name is the paper's."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        return _of_papers(self.folder)


def _modules(folder: str) -> dict[str, str]:
    """The modules and packages of a registry by their names. Raises NoMember where two have the same name."""
    found: dict[str, str] = {}
    for path in sorted(path for parent in (PACKAGE, *_papers()) for path in (parent / folder).glob("[a-z]*")):
        if path.suffix == ".py" or (path / "__init__.py").is_file():
            if path.stem in found:
                raise NoMember(f"{folder}: {found[path.stem]} and {_dotted(path)} have the same name")
            found[path.stem] = _dotted(path)
    return dict(sorted(found.items()))


def _of_papers(module: str) -> dict[str, str]:
    paths = {paper.name: paper / module for paper in _papers()}
    return {
        name: _dotted(path)
        for name, path in paths.items()
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    }


@cache
def _papers() -> tuple[Path, ...]:
    """The packages of papers."""
    return tuple(sorted(path.parent for path in (PACKAGE / PAPERS).glob("*/__init__.py")))


def _dotted(path: Path) -> str:
    return ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts))


def papers() -> tuple[str, ...]:
    """The names of the papers that have a package."""
    return tuple(path.name for path in _papers())

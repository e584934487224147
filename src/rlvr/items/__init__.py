"""Items: tables and figures, and what their kinds have in common.

A kind is one module in `rlvr.tables` or `rlvr.figures`. Its file name is the `kind` of configuration; no list of kinds
stands anywhere else. A kind has

    Config(ItemConfig)                           its keys in a paper's file, with their checks
    expand(name, config, scope) -> Item          what it needs: cells (models x arms x seeds), evaluations, other items
    lay_out(item, plan, paper) -> dict           what the functions below are told: plain data without paths
    statistics(layout, <inputs>) -> DataFrame    its numbers with intervals, tidy

A kind of table then has `render(layout, <statistics>, <reference>) -> Rendered`: text, no arithmetic. A kind of figure
has `draw(layout, frames) -> Figure` and may have `caption(frames) -> str`, what its marks are over.

The names of a function's parameters say which files it reads: inputs are those of `rlvr.items.inputs`. A kind without
`statistics` reads published values or closed forms alone. A kind may also define

    companions(name, config, scope) -> (tables, figures)   configurations of items that come with it
    check_published(config, file, paper, place)            whether a published table has the names that it looks for
    sentences(statistics, level) -> list[str]              what a page says in short above a table
    CLAIMS = "<module of rlvr.claims>"                     what contrasts of its cells are made of
    FLOATS = "%.9g"                                        how its statistics are written
    AS_TEXT = True                                         whether `render` gets its statistics as text
    CURVES = True                                          whether a figure can draw its rows over k
    EVERY_SCALE = True                                     whether nothing of it depends on the scale
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

TABLES, FIGURES = "tables", "figures"
DEFAULT = {TABLES: "pass_at_k"}  # the kind of a table that names none

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def names(folder: str) -> tuple[str, ...]:
    """The kinds of tables or of figures."""
    return tuple(sorted(path.stem for path in (_PACKAGE / folder).glob("[a-z]*.py")))


@cache
def load(folder: str, kind: str) -> ModuleType:
    """The module of a kind."""
    return importlib.import_module(f"rlvr.{folder}.{kind}")


def hook(module: ModuleType, name: str, otherwise: Any = None) -> Any:
    """What a kind may define, else `otherwise`."""
    return getattr(module, name, otherwise)


@cache
def parameters(module: ModuleType, function: str) -> tuple[str, ...]:
    """The names of what a kind's function takes beside the layout; () where it has no such function."""
    found = getattr(module, function, None)
    return () if found is None else tuple(inspect.signature(found).parameters)[1:]

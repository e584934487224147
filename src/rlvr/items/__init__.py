"""Items: the interface of the kinds of tables and figures.

A kind is one module in `rlvr.tables` or `rlvr.figures`. Its file name is its `kind` in configuration; there is no other
list of kinds. A kind has

    Config(ItemConfig)                           its keys in a paper's file, with their checks
    expand(name, config, scope) -> Item          its inputs: cells (models x arms x seeds), evaluations, other items
    lay_out(item, plan, paper) -> dict           the layout that the functions below get: plain data without paths
    statistics(layout, <inputs>) -> DataFrame    its numbers with intervals, tidy

A kind of table also has `render(layout, <statistics>, <reference>) -> Rendered`: text, no arithmetic. A kind of figure
has `draw(layout, frames) -> Figure` and `CAPTION`, which explains its lines and error bars (of {seeds} training seeds).

The names of a function's parameters select the files it reads: see `rlvr.items.inputs`. A kind without `statistics`
shows only published values or closed forms. A kind may also define

    companions(name, config, scope) -> (tables, figures)   configurations of items that come with it
    check_published(config, file, paper, place)            whether a published table has the names that it looks for
    sentences(statistics, level) -> list[str]              what a page says in short above a table
    CLAIMS = "<module of rlvr.claims>"                     what contrasts of its cells are made of
    measures(config), PARTS                                for claims "of_parts": the measures, the parts of training
    FLOATS = "%.9g"                                        how its statistics are written
    AS_TEXT = True                                         whether `render` gets its statistics as text
    CURVES = True                                          whether a figure can draw its rows over k
    EVERY_SCALE = True                                     whether nothing of it depends on the scale
    DEFAULT = True                                         whether an item without `kind` is of this kind
"""

import importlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from rlvr.config.registries import constant

TABLES, FIGURES = "tables", "figures"

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def names(folder: str) -> tuple[str, ...]:
    """The kinds of tables or of figures."""
    return tuple(sorted(path.stem for path in (_PACKAGE / folder).glob("[a-z]*.py")))


@cache
def default(folder: str) -> str | None:
    """The kind of an item without `kind`, read from source; None where each item needs one."""
    return next((name for name in names(folder) if constant(folder, name, "DEFAULT", False)), None)


@cache
def load(folder: str, kind: str) -> ModuleType:
    """The module of a kind."""
    return importlib.import_module(f"rlvr.{folder}.{kind}")


def hook(module: ModuleType, name: str, otherwise: Any = None) -> Any:
    """The value of an optional name of a kind, else `otherwise`."""
    return getattr(module, name, otherwise)


@cache
def parameters(module: ModuleType, function: str) -> tuple[str, ...]:
    """The parameters of a kind's function after the layout; () where the kind lacks the function."""
    value = getattr(module, function, None)
    return () if value is None else tuple(inspect.signature(value).parameters)[1:]

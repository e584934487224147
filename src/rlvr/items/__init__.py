"""Items: tables and figures. Each kind is one module in a folder `tables` or `figures`, here or in a paper's package.

The file name is its `kind` in configuration. The module defines `TABLE = TableKind(...)` or `FIGURE = FigureKind(...)`.
Planning imports kinds, so they import matplotlib, scipy and torch inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from rlvr.items.contrast import ClaimKind
from rlvr.registry import Registry

if TYPE_CHECKING:  # a plan loads this module, and renders nothing
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from rlvr.config.layouts import Layout
    from rlvr.config.plan import Item, Plan
    from rlvr.config.published import PublishedTable
    from rlvr.config.schema.items import ItemConfig
    from rlvr.config.schema.paper import Paper
    from rlvr.items.rendered import Rendered
    from rlvr.items.scope import Scope

TABLES, FIGURES = "tables", "figures"
DEFAULT = {TABLES: "pass_at_k"}  # the kind of an item without `kind`; a figure needs one
STATISTICS, REFERENCE = "statistics", "reference"  # what a table is rendered from

Companions = tuple[dict[str, "ItemConfig"], dict[str, "ItemConfig"]]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of table or figure.

    config       its keys in a paper's file, with their checks
    expand       (name, config, scope): its inputs as an Item: cells (models x arms x seeds), evaluations, other items
    layout       the type of its layout, which the functions below get: data without paths (`rlvr.config.layouts`)
    lay_out      (item, plan, paper): that layout, where `rlvr.items.layout.filled` does not know all of its keys
    statistics   (layout, <what it reads>): its numbers with intervals, tidy; None: it shows other items' numbers,
                 published values, or settings
    reads        the inputs of `statistics`, by the names of its parameters: keys of `rlvr.items.inputs.INPUTS`, a
                 measure of runs (`rlvr.config.measures`) for its rows, the same with `_summary` for its summaries, or
                 "reference", the path of the published table or None
    claims       what contrasts of its cells are made of
    floats       how its statistics are written
    every_scale  whether nothing of it depends on the scale
    """

    config: type[ItemConfig]
    expand: Callable[[str, Any, Scope], Item]
    layout: type[Layout] | UnionType
    lay_out: Callable[[Item, Plan, str], Layout] | None = None
    statistics: Callable[..., DataFrame] | None = None
    reads: tuple[str, ...] = ()
    claims: ClaimKind | None = None
    floats: str = "%.6g"
    every_scale: bool = False

    def read(self, content: Mapping[str, Any]) -> Any:
        """The layout in a stage's specification. Raises pydantic's ValidationError."""
        return TypeAdapter(cast(Any, self.layout)).validate_python(content)


@dataclass(frozen=True, kw_only=True)
class TableKind(Kind):
    """A kind of table.

    render           (layout, <what it is rendered from>): its cells as text; no arithmetic
    rendered_from    the parameters of `render`: "statistics" as a data frame, "reference"
    as_text          whether `render` gets its statistics as text
    companions       (name, config, scope): the tables and the figures that come with it
    check_published  (config, file, paper, place): raises ConfigError where a published table lacks a name
    sentences        (statistics, level): what a page says in short above the table
    rank_of          (statistics, arm): where an arm ranks among the others, in words
    curves           whether a figure can draw its rows over k
    """

    render: Callable[..., Rendered]
    rendered_from: tuple[str, ...] = (STATISTICS,)
    as_text: bool = False
    companions: Callable[[str, Any, Scope], Companions] | None = None
    check_published: Callable[[Any, PublishedTable, Paper, str], None] | None = None
    sentences: Callable[[DataFrame, float | None], list[str]] | None = None
    rank_of: Callable[[DataFrame, str], str] | None = None
    curves: bool = False


@dataclass(frozen=True, kw_only=True)
class FigureKind(Kind):
    """A kind of figure.

    draw     (layout, frames): the figure, from the statistics of its sources
    caption  explains its lines and error bars (of {seeds} training seeds)
    """

    draw: Callable[[Any, list[DataFrame]], Figure]
    caption: str


TABLE_KINDS = Registry[TableKind](TABLES, "TABLE")
FIGURE_KINDS = Registry[FigureKind](FIGURES, "FIGURE")


def kinds(folder: str) -> Registry[TableKind] | Registry[FigureKind]:
    """The kinds of tables, or of figures."""
    return {TABLES: TABLE_KINDS, FIGURES: FIGURE_KINDS}[folder]


def kind_of(item: Item) -> TableKind | FigureKind:
    """The kind of a planned table or figure."""
    return kinds(item.folder).load(item.content.kind)

"""The published values of a paper's table that this project has not run."""

from pathlib import Path

import pandas as pd

from rlvr.config.layouts import Layout
from rlvr.config.plan import Item
from rlvr.config.schema.items import ItemConfig
from rlvr.items import TABLES, TableKind
from rlvr.items.rendered import Rendered
from rlvr.items.scope import Scope

NOT_RUN = "not yet run"


class Config(ItemConfig):
    reference: str  # the published table, a file of the paper's folder reference/
    others: bool = False  # whether its rows are models that others trained, which nothing here runs
    columns: list[str] = []  # its benchmarks to show; none: all


def expand(name: str, config: Config, scope: Scope) -> Item:
    return Item(TABLES, name, config)


class PublishedLayout(Layout):
    others: bool
    columns: tuple[str, ...]


def render(layout: PublishedLayout, reference: Path) -> Rendered:
    """The table: one row per method, one column per benchmark (and k, where there are several)."""
    published = pd.read_csv(reference)
    if layout.columns:
        published = published[published["benchmark"].isin(layout.columns)]
    several = published["k"].nunique() > 1
    names = published["benchmark"] + (" @" + published["k"].astype(str) if several else "")
    wide = published.assign(column=names).pivot_table(
        index=["model", "method"], columns="column", values="value", aggfunc="first", sort=False
    )
    wide = wide[list(dict.fromkeys(names))].reset_index()
    columns = [f"{name} (published)" for name in wide.columns[2:]]
    notes = [layout.note] if layout.note else []
    if not layout.others:
        wide.insert(2, "ours", NOT_RUN)
        columns = ["ours", *columns]
        notes = [f"{len(wide)} rows {NOT_RUN}. " + (layout.note or "")]
    text = wide.astype(object).where(wide.notna(), "").astype(str)
    alone = "Published values alone: nothing of this table was run."
    return Rendered(layout.title, alone, text.set_axis(["Model", "Method", *columns], axis=1), notes)


TABLE = TableKind(
    config=Config,
    layout=PublishedLayout,
    expand=expand,
    render=render,
    rendered_from=("reference",),
)

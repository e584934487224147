"""A table of closed forms."""

from functools import partial

import pandas as pd

from rlvr.items import TABLES, TableKind, closed_forms
from rlvr.items.rendered import Rendered

Config = closed_forms.ClosedForms
lay_out = closed_forms.lay_out
expand = partial(closed_forms.expand, TABLES)


def render(layout: closed_forms.ClosedFormsLayout, statistics: pd.DataFrame) -> Rendered:
    notes = [layout.note] if layout.note else []
    return Rendered(layout.title, closed_forms.SAME, statistics, notes)


TABLE = TableKind(
    config=Config,
    layout=closed_forms.ClosedFormsLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=closed_forms.statistics,
    floats=closed_forms.FLOATS,
    every_scale=True,
    render=render,
    as_text=True,
)

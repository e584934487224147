"""A table of closed forms."""

from functools import partial

import pandas as pd

from rlvr.items import TABLES, TableKind, closed_forms
from rlvr.items.rendered import Rendered


def render(layout: closed_forms.ClosedFormsLayout, statistics: pd.DataFrame) -> Rendered:
    notes = [layout.note] if layout.note else []
    return Rendered(layout.title, closed_forms.SAME, statistics, notes)


TABLE = TableKind(
    config=closed_forms.ClosedForms,
    layout=closed_forms.ClosedFormsLayout,
    expand=partial(closed_forms.expand, TABLES),
    statistics=closed_forms.statistics,
    floats=closed_forms.FLOATS,
    every_scale=True,
    render=render,
    as_text=True,
)

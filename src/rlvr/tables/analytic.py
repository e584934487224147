"""A table of closed forms."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.items import TABLES, closed_forms
from rlvr.tables._rendered import Rendered

AS_TEXT = True  # the table shows the CSV's text unchanged
Config = closed_forms.ClosedForms
EVERY_SCALE = closed_forms.EVERY_SCALE
FLOATS = closed_forms.FLOATS
lay_out = closed_forms.lay_out
statistics = closed_forms.statistics
expand = partial(closed_forms.expand, TABLES)


def render(layout: dict[str, Any], statistics: pd.DataFrame) -> Rendered:
    notes = [layout["note"]] if layout["note"] else []
    return Rendered(layout["title"], closed_forms.SAME, statistics, notes)

"""Tables and figures of closed forms, which need no runs. `content` names one (`rlvr.theory.closed_forms`)."""

import pandas as pd

from rlvr.config.layers import look_up
from rlvr.config.layouts import Layout
from rlvr.config.plan import Item
from rlvr.config.schema.items import ItemConfig
from rlvr.items.scope import Scope
from rlvr.theory.closed_forms import CLOSED_FORMS

FLOATS = "%.9g"
SAME = "Closed forms: the same at any scale, no run behind them."


class ClosedForms(ItemConfig):
    content: str


class ClosedFormsLayout(Layout):
    content: str


def expand(folder: str, name: str, config: ClosedForms, scope: Scope) -> Item:
    look_up(CLOSED_FORMS.names(), config.content, "content", f"{scope.place}.content")
    return Item(folder, name, config, sources=(name,))


def statistics(layout: ClosedFormsLayout) -> pd.DataFrame:
    return CLOSED_FORMS.load(layout.content)()

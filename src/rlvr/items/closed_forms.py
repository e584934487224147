"""Tables and figures of closed forms, which need no runs. `content` is a module of rlvr.theory.closed_forms."""

import importlib
from typing import Any

import pandas as pd

from rlvr.config import registries
from rlvr.config.layers import look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import ItemConfig
from rlvr.items.layout import common
from rlvr.items.scope import Scope

FLOATS = "%.9g"
EVERY_SCALE = True  # the same at any scale
SAME = "Closed forms: the same at any scale, no run behind them."


class ClosedForms(ItemConfig):
    content: str


def expand(folder: str, name: str, config: ClosedForms, scope: Scope) -> Item:
    look_up(registries.analytic_contents(), config.content, "content", f"{scope.place}.content")
    return Item(folder, name, config, sources=(name,))


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    return {**common(item, plan), "content": item.content.content}  # type: ignore[attr-defined]


def statistics(layout: dict[str, Any]) -> pd.DataFrame:
    return importlib.import_module(f"rlvr.theory.closed_forms.{layout['content']}").frame()

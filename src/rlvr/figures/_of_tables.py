"""Figures of the numbers of pass@k tables: the common keys and planning of their kinds."""

from typing import Any

from pydantic import Field

from rlvr import items
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import ItemConfig
from rlvr.figures._looks import with_looks
from rlvr.items import FIGURES, TABLES
from rlvr.items.layout import common
from rlvr.items.scope import Scope


class Config(ItemConfig):
    tables: list[str] = Field(min_length=1)  # pass@k tables


def expand(name: str, config: Config, scope: Scope) -> Item:
    for table in config.tables:
        item = look_up(scope.planned.tables, table, "table", f"{scope.place}.tables")
        if not items.hook(items.load(TABLES, item.content.kind), "CURVES", False):
            raise ConfigError(f"{scope.place}.tables: {table!r} has no pass@k; name a pass@k table")
    return Item(FIGURES, name, config, sources=tuple(config.tables))


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    return {**common(item, plan), **with_looks(plan, paper)}

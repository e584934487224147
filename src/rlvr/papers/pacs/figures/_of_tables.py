"""Figures of the numbers of pass@k tables: the common keys and planning of their kinds."""

from pydantic import Field

from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item
from rlvr.config.schema.items import ItemConfig
from rlvr.items import FIGURES, TABLE_KINDS
from rlvr.items.scope import Scope


class Config(ItemConfig):
    tables: list[str] = Field(min_length=1)  # pass@k tables


def expand(name: str, config: Config, scope: Scope) -> Item:
    for table in config.tables:
        item = look_up(scope.planned.tables, table, "table", f"{scope.place}.tables")
        if not TABLE_KINDS.load(item.content.kind).curves:
            raise ConfigError(f"{scope.place}.tables: {table!r} has no pass@k; name a pass@k table")
    return Item(FIGURES, name, config, sources=tuple(config.tables))

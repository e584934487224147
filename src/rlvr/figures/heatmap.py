"""Pass@k of a table's methods by k, as shaded cells with their numbers (PACS, Figure 4)."""

from typing import Any

import pandas as pd
from pydantic import Field

from rlvr import items
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import ItemConfig
from rlvr.figures._looks import Figure, with_looks
from rlvr.items import FIGURES, TABLES
from rlvr.items.layout import common
from rlvr.items.scope import Scope

CAPTION = "Means over {seeds} training seeds; the table has their intervals."
DARK = 0.6  # of the scale, from where on numbers are white


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


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per model and benchmark, each with its own shades, from its lowest value to its highest."""
    import matplotlib.pyplot as plt

    frame = pd.concat(frames)
    frame = frame.loc[(frame["score"] == "pass") & (frame["arm"] != "blind")]
    panels = list(frame.groupby(["model", "benchmark"], sort=False))
    models = frame["model"].nunique()
    across = -(-len(panels) // models)
    rows, columns = frame["arm"].nunique(), frame["k"].nunique()
    size = ((0.62 * columns + 0.9) * across + 0.6, (0.36 * rows + 1.1) * models + 0.5)
    figure, grid = plt.subplots(models, across, figsize=size, squeeze=False)
    for axes, ((model, benchmark), cells) in zip(grid.flat, panels, strict=True):
        wide = cells.pivot_table(index="label", columns="k", values="value", sort=False)
        low, high = wide.min().min(), wide.max().max()
        axes.imshow(wide, cmap="cividis_r", aspect="auto", vmin=low, vmax=high)
        for y, x in ((y, x) for y in range(len(wide)) for x in range(len(wide.columns))):
            shade = (wide.iloc[y, x] - low) / max(high - low, 1e-9)
            color = "white" if shade > DARK else "black"
            axes.text(x, y, f"{wide.iloc[y, x]:.1f}", ha="center", va="center", color=color, fontsize="small")
        axes.set_xticks(range(len(wide.columns)), [str(k) for k in wide.columns])
        axes.set_yticks(range(len(wide)), list(wide.index) if axes in grid[:, 0] else [""] * len(wide))
        axes.grid(visible=False)
        stand_in = cells["stand_in"].iloc[0]
        axes.set_title(f"{stand_in}\n{benchmark} stand-in" if stand_in != model else f"{model}\n{benchmark}")
        axes.set_xlabel("k")
    return figure

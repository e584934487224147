"""Pass@k of a table's methods by k, as shaded cells with their numbers (PACS, Figure 4)."""

from itertools import chain

import pandas as pd

from rlvr.figures import _scored
from rlvr.figures._panels import SMALL, WIDTH, Figure, grid, starts_line
from rlvr.statistics.table_rows import UNTRAINED

CAPTION = "Means over {seeds} training seeds; the table has their intervals."
DARK = 0.6  # of the scale, from where on numbers are white


def draw(layout: _scored.OfTables, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a row per model, a panel per benchmark with its own shades, from its lowest value to its highest."""
    frame = pd.concat(frames)
    frame = frame.loc[(frame["score"] == "pass") & ~frame["arm"].isin(list(UNTRAINED))]
    models = frame.groupby("model", sort=False)
    width, height = min(0.4 * frame["k"].nunique() + 0.8, WIDTH), 0.25 * frame["arm"].nunique() + 0.9
    figure, blocks = grid(models["benchmark"].nunique().tolist(), height=height, least=width, most=width)
    labels = dict(zip(frame["arm"], frame["label"], strict=True))
    parts = (part for _, of in models for part in of.groupby(["model", "benchmark"], sort=False))
    for axes, ((model, benchmark), cells) in zip(chain.from_iterable(blocks), parts, strict=True):
        wide = cells.pivot_table(index="arm", columns="k", values="value", sort=False)
        low, high = wide.min().min(), wide.max().max()
        axes.imshow(wide, cmap="cividis_r", aspect="auto", vmin=low, vmax=high)
        for y, x in ((y, x) for y in range(len(wide)) for x in range(len(wide.columns))):
            shade = (wide.iloc[y, x] - low) / max(high - low, 1e-9)
            color = "white" if shade > DARK else "black"
            axes.text(x, y, f"{wide.iloc[y, x]:.1f}", ha="center", va="center", color=color, fontsize=SMALL)
        axes.set_xticks(range(len(wide.columns)), [str(k) for k in wide.columns])
        names = [labels[arm] if starts_line(axes) else "" for arm in wide.index]
        axes.set_yticks(range(len(wide)), names)
        axes.grid(visible=False)
        stand_in = cells["stand_in"].iloc[0]
        axes.set_title(f"{stand_in}\n{benchmark} stand-in" if stand_in != model else f"{model}\n{benchmark}")
        axes.set_xlabel("k")
    return figure


FIGURE = _scored.TablesKind(draw=draw, caption=CAPTION)

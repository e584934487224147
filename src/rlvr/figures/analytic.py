"""Closed forms as curves."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.config.colors import COLORS
from rlvr.figures._looks import Figure
from rlvr.items import FIGURES, closed_forms

COLOURS = [COLORS[name] for name in ("blue", "orange", "vermilion", "green", "pink", "sky")]


CAPTION = closed_forms.SAME
Config = closed_forms.ClosedForms
EVERY_SCALE = closed_forms.EVERY_SCALE
FLOATS = closed_forms.FLOATS
lay_out = closed_forms.lay_out
statistics = closed_forms.statistics
expand = partial(closed_forms.expand, FIGURES)


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per group of lines; the panel's note explains dashed lines."""
    import matplotlib.pyplot as plt

    frame = frames[0].fillna({"panel": ""})
    panels = list(dict.fromkeys(frame["panel"]))
    figure, grid = plt.subplots(1, len(panels), figsize=(4.6 * len(panels) + 0.6, 3.9), squeeze=False)
    for axes, panel in zip(grid[0], panels, strict=True):
        rows = frame[frame["panel"] == panel]
        for (label, style), line in rows.groupby(["label", "style"], sort=False):
            position = list(dict.fromkeys(rows["label"])).index(label)
            tint = COLOURS[position % len(COLOURS)]
            dashes = {"color": tint, "linestyle": "--" if style == "dashed" else "-"}
            first = style == rows.loc[rows["label"] == label, "style"].iloc[0]
            axes.plot(line["x"], line["y"], label=label if first else None, **dashes)
        axes.set(xlabel=rows["x_label"].iloc[0], ylabel=rows["y_label"].iloc[0], title=panel)
        axes.legend(fontsize=8)
    return figure

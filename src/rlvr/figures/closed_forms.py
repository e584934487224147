"""Figures of closed forms, without runs."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from rlvr.figures.looks import BLUE, GREEN, ORANGE, PINK, SKY, VERMILION

COLOURS = (BLUE, ORANGE, VERMILION, GREEN, PINK, SKY)


def analytic(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Closed forms: a panel a group of lines; the dashed line of a label is what the panel's note says."""
    frame = frames[0].fillna({"panel": ""})
    panels = list(dict.fromkeys(frame["panel"]))
    figure, grid = plt.subplots(1, len(panels), figsize=(4.6 * len(panels) + 0.6, 3.9), squeeze=False)
    for axes, panel in zip(grid[0], panels, strict=True):
        own = frame[frame["panel"] == panel]
        for (label, style), line in own.groupby(["label", "style"], sort=False):
            position = list(dict.fromkeys(own["label"])).index(label)
            tint = COLOURS[position % len(COLOURS)]
            dashes = {"color": tint, "linestyle": "--" if style == "dashed" else "-"}
            first = style == own.loc[own["label"] == label, "style"].iloc[0]
            axes.plot(line["x"], line["y"], label=label if first else None, **dashes)
        axes.set(xlabel=own["x_label"].iloc[0], ylabel=own["y_label"].iloc[0], title=panel)
        axes.legend(fontsize=8)
    return figure

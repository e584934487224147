"""Pass@1 against pass@(largest k), one curve per method over its learning rates."""

from typing import Any

import pandas as pd
from pydantic import model_validator

from rlvr.figures import _scored
from rlvr.figures._looks import Figure, legend, looks

SPREAD = {"elinewidth": 0.6, "alpha": 0.45}
NOTE = (
    "A method that is better, and not merely bolder or shyer in its steps, lies to the upper right of the other "
    "methods' curves, not further along them. The larger a dot, the larger its learning rate."
)


class Config(_scored.ScoredFigure):
    @model_validator(mode="after")
    def has_all_keys(self):
        self.has_curves()
        return self


CAPTION = _scored.CAPTION
expand = _scored.expand
lay_out = _scored.lay_out
statistics = _scored.statistics


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure, with intervals in both directions.

    The larger a dot, the larger its learning rate; the first panel has the legend. A base policy has no rate.
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    frame = frames[0].query("arm != 'blind'")  # whose pass rates would press the others together
    low_k, high_k = frame["k"].min(), frame["k"].max()
    curves = list(dict.fromkeys(frame["label"]))
    arms = {str(label): str(rows_of_panel["arm"].iloc[0]) for label, rows_of_panel in frame.groupby("label")}
    styles = looks([arms[label] for label in curves], layout)
    rates, size = _rates(frame)
    steps = sorted(rates.dropna().unique())
    sizes = {rate: 3.0 + 6.0 * i / max(1, len(steps) - 1) for i, rate in enumerate(steps)}
    panels = list(dict.fromkeys(zip(frame["model"], frame["benchmark"], strict=True)))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(5.2 * columns, 4.4 * rows), squeeze=False)
    for unused in grid.flat[len(panels) :]:
        unused.set_axis_off()
    for axes, (model, benchmark) in zip(grid.flat, panels, strict=False):
        rows_of_panel = frame[(frame["model"] == model) & (frame["benchmark"] == benchmark)]
        for label, cells in rows_of_panel.groupby("label", sort=False):
            x, y = (cells[cells["k"] == k].sort_values("learning_rate") for k in (low_k, high_k))
            look = styles[arms[str(label)]]
            errors = [[(p["value"] - p["value_low"]), (p["value_high"] - p["value"])] for p in (x, y)]
            style = {"color": look.color, "linestyle": look.linestyle}
            axes.errorbar(x["value"], y["value"], errors[1], errors[0], fmt="none", ecolor=look.color, **SPREAD)
            axes.plot(x["value"], y["value"], label=label, **style, marker="o", markersize=4 if x.shape[0] == 1 else 0)
            for across, up, rate in zip(x["value"], y["value"], rates[x.index], strict=True):
                if rate in sizes:
                    axes.plot(across, up, color=look.color, marker="o", markersize=sizes[rate])
        title = str(rows_of_panel["stand_in"].iloc[0]) + (f", {benchmark}" if frame["benchmark"].nunique() > 1 else "")
        axes.set(xlabel=f"pass@{low_k} (%)", ylabel=f"pass@{high_k} (%)", title=title)
    dots = [Line2D([], [], color="0.4", linestyle="", marker="o", markersize=sizes[r], label=f"{r:.2g}") for r in steps]
    grid[0][0].legend(handles=dots, title=size, loc="lower right", fontsize=7, title_fontsize=7)
    legend(figure, grid[0])
    return figure


def _rates(frame: pd.DataFrame) -> tuple[pd.Series, str]:
    """What a dot's size says of its row, and its name: the rate, or its share of a method's largest if they differ."""
    rates = pd.Series(frame["learning_rate"])
    of_method = frame.dropna(subset="learning_rate").groupby(["model", "label"])["learning_rate"]
    if of_method.apply(frozenset).nunique() <= 1:
        return rates, "learning rate"
    shares = pd.Series(rates / of_method.transform("max"))
    return shares.round(3), "share of the method's\nlargest learning rate"

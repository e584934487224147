"""Figures of scores on benchmarks: curves over k, and one k against another."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from rlvr.figures.looks import legend, looks

SPREAD = {"elinewidth": 0.6, "alpha": 0.45}


def pass_at_k_curves(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """A row a model; for each benchmark our curves with their intervals, and the published ones beside them."""
    frames = [frame.loc[frame["score"] == "pass"] for frame in frames]
    frames = [own for frame in frames for _, own in frame.groupby("benchmark", sort=False)]
    models = list(dict.fromkeys(model for frame in frames for model in frame["model"]))
    styles = looks((arm for frame in frames for arm in frame["arm"]), layout.get("arms", ()))
    size = (2.7 * 2 * len(frames) + 0.6, 2.6 * len(models) + 0.9)
    figure, grid = plt.subplots(len(models), 2 * len(frames), figsize=size, squeeze=False)
    for row, model in enumerate(models):
        for column, frame in enumerate(frames):
            own = frame[frame["model"] == model]
            ours, theirs = grid[row][2 * column], grid[row][2 * column + 1]
            for arm, cell in own.groupby("arm", sort=False):
                look = styles[str(arm)]
                style = {"color": look.color, "linestyle": look.linestyle, "marker": "o"}
                style["label"] = cell["label"].iloc[0]
                ours.plot(cell["k"], cell["value"], **style)
                ours.fill_between(cell["k"], cell["value_low"], cell["value_high"], color=style["color"], alpha=0.13)
                if cell["published"].notna().any():
                    theirs.plot(cell["k"], cell["published"], **style)
            benchmark = own["benchmark"].iloc[0]
            _k_axis(ours, sorted(own["k"].unique()), f"{own['stand_in'].iloc[0]}\n{benchmark} stand-in, ours")
            if own["stand_in"].iloc[0] == model:
                ours.set_title(f"{model}\n{benchmark}, ours")
            _k_axis(theirs, sorted(own["k"].unique()), f"{model}\n{benchmark}, published")
            theirs.set_facecolor("#f7f7f4")
        grid[row][0].set_ylabel("pass@k (%)")
    legend(figure, grid.flat)
    return figure


def _k_axis(axes: Axes, ks: list[int], title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("k")
    axes.set_title(title)


def frontier(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """pass@1 against pass@(largest k), a curve a method over learning rates, with intervals both ways.

    The larger a dot, the larger its learning rate; the first panel says which is which. A base policy has no rate.
    """
    frame = frames[0]
    low_k, high_k = frame["k"].min(), frame["k"].max()
    curves = list(dict.fromkeys(frame["label"]))
    arms = {str(label): str(own["arm"].iloc[0]) for label, own in frame.groupby("label")}
    styles = looks([arms[label] for label in curves], layout.get("arms", ()))
    rates = sorted(frame["learning_rate"].dropna().unique())
    sizes = {rate: 3.0 + 6.0 * i / max(1, len(rates) - 1) for i, rate in enumerate(rates)}
    panels = list(dict.fromkeys(zip(frame["model"], frame["benchmark"], strict=True)))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(5.2 * columns, 4.4 * rows), squeeze=False)
    for unused in grid.flat[len(panels) :]:
        unused.set_axis_off()
    for axes, (model, benchmark) in zip(grid.flat, panels, strict=False):
        own = frame[(frame["model"] == model) & (frame["benchmark"] == benchmark)]
        for label, cells in own.groupby("label", sort=False):
            x, y = (cells[cells["k"] == k].sort_values("learning_rate") for k in (low_k, high_k))
            look = styles[arms[str(label)]]
            errors = [[(p["value"] - p["value_low"]), (p["value_high"] - p["value"])] for p in (x, y)]
            style = {"color": look.color, "linestyle": look.linestyle}
            axes.errorbar(x["value"], y["value"], errors[1], errors[0], fmt="none", ecolor=look.color, **SPREAD)
            axes.plot(x["value"], y["value"], label=label, **style, marker="o", markersize=4 if x.shape[0] == 1 else 0)
            for across, up, rate in zip(x["value"], y["value"], x["learning_rate"], strict=True):
                if rate in sizes:
                    axes.plot(across, up, color=look.color, marker="o", markersize=sizes[rate])
        title = str(own["stand_in"].iloc[0]) + (f", {benchmark}" if frame["benchmark"].nunique() > 1 else "")
        axes.set(xlabel=f"pass@{low_k} (%)", ylabel=f"pass@{high_k} (%)", title=title)
    dots = [Line2D([], [], color="0.4", linestyle="", marker="o", markersize=sizes[r], label=f"{r:.2g}") for r in rates]
    grid[0][0].legend(handles=dots, title="learning rate", loc="lower right", fontsize=7, title_fontsize=7)
    legend(figure, grid[0])
    return figure

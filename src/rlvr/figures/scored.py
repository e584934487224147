"""Figures of scores on benchmarks: curves over k, and one k against another."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from rlvr.figures.looks import legend, looks, method


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
    """pass@1 against pass@(largest k), a curve a method over learning rates, with intervals both ways."""
    frame = frames[0]
    models, (low_k, high_k) = list(dict.fromkeys(frame["model"])), (frame["k"].min(), frame["k"].max())
    styles = looks(frame["arm"].map(method), layout.get("arms", ()))
    figure, grid = plt.subplots(1, len(models), figsize=(5.6 * len(models), 4.6), squeeze=False)
    for column, model in enumerate(models):
        axes, own = grid[0][column], frame[frame["model"] == model]
        for name, cells in own.groupby(own["arm"].map(method), sort=False):
            x, y = (cells[cells["k"] == k].sort_values("learning_rate") for k in (low_k, high_k))
            tint = styles[str(name)].color
            errors = [[(p["value"] - p["value_low"]), (p["value_high"] - p["value"])] for p in (x, y)]
            axes.errorbar(
                x["value"],
                y["value"],
                xerr=errors[0],
                yerr=errors[1],
                color=tint,
                marker="o",
                elinewidth=0.6,
                label=x["label"].iloc[0],
            )
            for across, up, rate in zip(x["value"], y["value"], x["learning_rate"], strict=True):
                if pd.isna(rate):  # a base policy
                    continue
                axes.annotate(f"{rate:.2g}", (across, up), (4, 4), textcoords="offset points", fontsize=7, color=tint)
        axes.set(xlabel=f"pass@{low_k} (%)", ylabel=f"pass@{high_k} (%)", title=own["stand_in"].iloc[0])
        axes.legend(title="learning rate beside each point", title_fontsize=8)
    return figure

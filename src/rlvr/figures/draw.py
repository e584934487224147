"""Stage: figures. One function a kind; `layout["kind"]` picks it."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from rlvr.records import whole

# Okabe and Ito's colours, told apart by every reader; one a method, the same in all figures.
COLOURS = {
    "base": "#7f7f7f",
    "grpo": "#0072B2",
    "dapo": "#E69F00",
    "ace_grpo": "#D55E00",
    "ace_dapo": "#009E73",
    "ace_grpo_sum": "#CC79A7",
    "ace_dapo_sum": "#56B4E9",
}
OTHERS = ["#8C564B", "#17BECF", "#BCBD22", "#1A1A1A"]


def colour(arm: str, position: int) -> str:
    return COLOURS.get(arm.split("-")[0], OTHERS[position % len(OTHERS)])


def pass_at_k_curves(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """A row a model; for each benchmark our curves with their intervals, and the published ones beside them."""
    frames = [frame.loc[frame["score"] == "pass"] for frame in frames]
    frames = [own for frame in frames for _, own in frame.groupby("benchmark", sort=False)]
    models = list(dict.fromkeys(model for frame in frames for model in frame["model"]))
    size = (2.7 * 2 * len(frames) + 0.6, 2.6 * len(models) + 0.9)
    figure, grid = plt.subplots(len(models), 2 * len(frames), figsize=size, squeeze=False)
    for row, model in enumerate(models):
        for column, frame in enumerate(frames):
            own = frame[frame["model"] == model]
            ours, theirs = grid[row][2 * column], grid[row][2 * column + 1]
            for position, (arm, cell) in enumerate(own.groupby("arm", sort=False)):
                style = {"color": colour(str(arm), position), "label": cell["label"].iloc[0], "marker": "o"}
                style["linestyle"] = "--" if arm == "base" else "-"
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
    _legend(figure, grid[0][0])
    return figure


def _k_axis(axes: Axes, ks: list[int], title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("k")
    axes.set_title(title)


def overconfidence(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """OEF, and the mean confidence shift of overconfident errors, over training; a row a model."""
    panels = {"oef": "overconfident share of errors (OEF)", "overconfidence_mean": "mean c / T where c > 0 (nats)"}
    return _over_steps(layout, frames[0], panels)


def entropy(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Entropy of held-out rollouts over all tokens, and over decision tokens; a row a model."""
    panels = {"entropy": "entropy, all tokens (nats)", "entropy_decision": "entropy, decision tokens (nats)"}
    return _over_steps(layout, frames[0], panels)


def _over_steps(layout: dict[str, Any], frame: pd.DataFrame, panels: dict[str, str]) -> Figure:
    models = list(dict.fromkeys(frame["model"]))
    size = (4.2 * len(panels), 2.7 * len(models) + 0.7)
    figure, grid = plt.subplots(len(models), len(panels), figsize=size, squeeze=False)
    for row, model in enumerate(models):
        for column, (measure, label) in enumerate(panels.items()):
            axes = grid[row][column]
            own = frame[(frame["model"] == model) & (frame["measure"] == measure)]
            for position, (arm, cell) in enumerate(own.groupby("arm", sort=False)):
                tint = colour(str(arm), position)
                axes.plot(cell["step"], cell["value"], color=tint, label=cell["label"].iloc[0])
                axes.fill_between(cell["step"], cell["value_low"], cell["value_high"], color=tint, alpha=0.13)
            low, high = own["value"].min(), own["value"].max()
            margin = max(0.25 * (high - low), 1e-3)
            # Wide intervals of few seeds are cut, the curves are not.
            axes.set_ylim(max(0.0, low - margin), min(1.0, high + margin) if measure == "oef" else high + margin)
            axes.set(xlabel="training step", ylabel=label)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_title(str(own["stand_in"].iloc[0]) if len(own) else model)
    _legend(figure, grid[0][0])
    return figure


def frontier(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """pass@1 against pass@(largest k), a curve a method over learning rates, with intervals both ways."""
    frame = frames[0]
    models, (low_k, high_k) = list(dict.fromkeys(frame["model"])), (frame["k"].min(), frame["k"].max())
    figure, grid = plt.subplots(1, len(models), figsize=(5.6 * len(models), 4.6), squeeze=False)
    for column, model in enumerate(models):
        axes, own = grid[0][column], frame[frame["model"] == model]
        for position, (name, cells) in enumerate(own.groupby(own["arm"].str.split("-").str[0], sort=False)):
            x, y = (cells[cells["k"] == k].sort_values("learning_rate") for k in (low_k, high_k))
            tint = colour(str(name), position)
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


def analytic(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """Closed forms: a panel a group of lines; the dashed line of a label is what the panel's note says."""
    frame = frames[0].fillna({"panel": ""})
    panels = list(dict.fromkeys(frame["panel"]))
    figure, grid = plt.subplots(1, len(panels), figsize=(4.6 * len(panels) + 0.6, 3.9), squeeze=False)
    for axes, panel in zip(grid[0], panels, strict=True):
        own = frame[frame["panel"] == panel]
        for (label, style), line in own.groupby(["label", "style"], sort=False):
            position = list(dict.fromkeys(own["label"])).index(label)
            tint = list(COLOURS.values())[1:][position % (len(COLOURS) - 1)]
            dashes = {"color": tint, "linestyle": "--" if style == "dashed" else "-"}
            first = style == own.loc[own["label"] == label, "style"].iloc[0]
            axes.plot(line["x"], line["y"], label=label if first else None, **dashes)
        axes.set(xlabel=own["x_label"].iloc[0], ylabel=own["y_label"].iloc[0], title=panel)
        axes.legend(fontsize=8)
    return figure


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(7, len(labels)))


KINDS: dict[str, Callable[[dict[str, Any], list[pd.DataFrame]], Figure]] = {
    "pass_at_k_curves": pass_at_k_curves,
    "overconfidence": overconfidence,
    "entropy": entropy,
    "frontier": frontier,
    "analytic": analytic,
}


def main(
    layout: Annotated[str, typer.Option(help="Kind, title and scale, as JSON.")],
    statistics: Annotated[list[Path], typer.Argument(help="CSV files of the statistics stage.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .pdf, .png.")],
) -> None:
    """Draw a figure."""
    content = json.loads(layout)
    plt.style.use(Path(__file__).with_name("rlvr.mplstyle"))
    figure = KINDS[content["kind"]](content, [pd.read_csv(path) for path in statistics])
    title = content["title"] if content["kind"] == "analytic" else f"{content['title']} · {content['scale']} scale"
    figure.suptitle(textwrap.fill(title, int(11 * figure.get_figwidth())), fontsize=11)
    for path in out:
        # Without dates and versions, so that equal data give equal files.
        metadata = {"CreationDate": None, "Producer": None} if path.suffix == ".pdf" else {"Software": None}
        with whole(path) as partial:
            figure.savefig(partial, format=path.suffix[1:], metadata=metadata)


if __name__ == "__main__":
    typer.run(main)

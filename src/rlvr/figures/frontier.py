"""Pass@1 against pass@(largest k): the baseline's curve over its learning rates, and each other method as a point."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.plan import Item
from rlvr.figures import _scored
from rlvr.figures._looks import Look, looks
from rlvr.figures._panels import SMALL, Axes, Figure, error_bars, grid, legend
from rlvr.items.scope import Scope
from rlvr.statistics.table_rows import UNTRAINED

MANY = 12  # more methods than these have a panel each
SPREAD: dict[str, Any] = {"elinewidth": 0.6, "alpha": 0.45}
NOTE = (
    "A method that is better, and not merely bolder or shyer in its steps, lies above the baseline's curve over its "
    "learning rates."
)


class Config(_scored.ScoredFigure):
    baseline: str
    knots: list[str] = Field(min_length=1)  # arms: the baseline at each learning rate

    @model_validator(mode="after")
    def has_all_keys(self):
        self.has_curves()
        return self


CAPTION = f"{_scored.CAPTION} The larger a dot, the larger its learning rate."


class FrontierLayout(_scored.ScoredLayout):
    baseline: str | None = None  # this and the next: none in snapshots in which each method had a curve
    knots: tuple[str, ...] = ()


def expand(name: str, config: Config, scope: Scope) -> Item:
    """The item; a knot has the baseline's label, and an arm of a sweep its own with the value."""
    baseline = scope.label_with_value(config.baseline)
    labels = dict.fromkeys(config.knots, baseline)
    return _scored.expand(name, config, scope, label=lambda arm: labels.get(arm) or scope.label_with_value(arm))


def draw(layout: FrontierLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure, with intervals in both directions; of many methods a panel each.

    The larger a dot of the curve, the larger its learning rate; the first panel has the legend.
    """
    frame = frames[0][~frames[0]["arm"].isin(list(UNTRAINED))]  # whose pass rates would press the others together
    frame = frame.assign(method=frame["arm"].where(~frame["arm"].isin(layout.knots), layout.baseline))
    return _a_panel_each(frame, layout.baseline) if frame["method"].nunique() > MANY else _together(frame, layout)


def _together(frame: pd.DataFrame, layout: FrontierLayout) -> Figure:
    """A panel per model and benchmark, with the curves of all methods."""
    from matplotlib.lines import Line2D

    low_k, high_k = frame["k"].min(), frame["k"].max()
    styles = looks(frame["method"], layout)
    sizes, name = _sizes(frame)
    panels = list(dict.fromkeys(zip(frame["model"], frame["benchmark"], strict=True)))
    figure, (block,) = grid([len(panels)], height=3.0, least=3.0, most=4.4)
    for axes, (model, benchmark) in zip(block, panels, strict=True):
        rows_of_panel = frame[(frame["model"] == model) & (frame["benchmark"] == benchmark)]
        for method, cells in rows_of_panel.groupby("method", sort=False):
            _curve(axes, cells, styles[str(method)], sizes, label=str(cells["label"].iloc[0]))
        several = frame["model"].nunique() > 1, frame["benchmark"].nunique() > 1
        names = (rows_of_panel.stand_in.iloc[0], benchmark)
        title = ", ".join(str(name) for name, shown in zip(names, several, strict=True) if shown)
        axes.set(xlabel=f"pass@{low_k} (%)", ylabel=f"pass@{high_k} (%)", title=title)
    sized = sorted({(size, rate) for rate, size in zip(_rates(frame)[0], sizes, strict=True) if size})
    dots = [
        Line2D([], [], color="0.4", linestyle="", marker="o", markersize=s, label=f"{rate:.2g}") for s, rate in sized
    ]
    block[0].legend(
        handles=dots, title=name, loc="best", fontsize=SMALL, title_fontsize=SMALL, frameon=True, framealpha=0.7
    )
    legend(figure)
    return figure


def _a_panel_each(frame: pd.DataFrame, baseline: str | None) -> Figure:
    """A panel per method, beside the baseline's curve, with all others in grey."""
    low_k, high_k = frame["k"].min(), frame["k"].max()
    cells_of: dict[Any, pd.DataFrame] = dict(list(frame.groupby("method", sort=False)))
    sizes = _sizes(frame)[0]
    others = [method for method in cells_of if method != baseline]
    points = np.concatenate([np.column_stack([of["value"] for of in _two(cells_of[method])]) for method in others])
    figure, (block,) = grid([len(others)], height=1.15, least=1.3, most=1.6, sharex=True, sharey=True)
    for axes, method in zip(block, others, strict=True):
        axes.scatter(*points.T, color="0.85", s=4, zorder=1)
        _curve(axes, cells_of[baseline], Look("0.25", "--"), sizes * 0.6, intervals=False)
        _curve(axes, cells_of[method], Look("C0"), sizes * 0.6)
        axes.set_title(str(cells_of[method]["label"].iloc[0]), fontsize=SMALL)
    name = cells_of[baseline]["label"].iloc[0]
    figure.supxlabel(f"pass@{low_k} (%)          dashed: {name}; grey: all others")
    figure.supylabel(f"pass@{high_k} (%)")
    return figure


def _curve(
    axes: Axes, cells: pd.DataFrame, look: Look, sizes: pd.Series, *, intervals: bool = True, label: str | None = None
) -> None:
    """A method's curve over its learning rates."""
    x, y = _two(cells)
    if intervals:
        axes.errorbar(x["value"], y["value"], error_bars(y), error_bars(x), fmt="none", ecolor=look.color, **SPREAD)
    path(axes, x["value"], y["value"], sizes[x.index], look, label)


def path(axes: Axes, x: pd.Series, y: pd.Series, sizes: Iterable[float], look: Look, label: str | None) -> None:
    """A line with a dot of its size at each point: none for size 0, and plain ones where all sizes are 0."""
    dots = [(across, up, size) for across, up, size in zip(x, y, sizes, strict=True) if size]
    axes.plot(x, y, color=look.color, linestyle=look.linestyle)
    for across, up, size in dots:
        axes.plot(across, up, **look.point, markersize=size)
    if not dots:
        axes.plot(x, y, **look.point, linestyle="")
    axes.plot([], [], **look.point, linestyle=look.linestyle, label=label)


def _two(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of pass@1 and of pass@(largest k), in the order of rates."""
    return [cells[cells["k"] == k].sort_values("learning_rate") for k in (cells["k"].min(), cells["k"].max())]


def _sizes(frame: pd.DataFrame) -> tuple[pd.Series, str]:
    """The size of each row's dot, 0 for one without a rate, and what sizes show."""
    rates, name = _rates(frame)
    steps = sorted(rates.dropna().unique())
    sizes = {rate: 3.0 + 6.0 * i / max(1, len(steps) - 1) for i, rate in enumerate(steps)}
    return pd.Series([sizes.get(rate, 0.0) for rate in rates], index=frame.index), name


def _rates(frame: pd.DataFrame) -> tuple[pd.Series, str]:
    """What a dot's size says of a row of a curve, and its name: the rate, or its share of the largest if models differ.

    A method with one rate has none.
    """
    rates = pd.Series(frame["learning_rate"]).where(
        frame.groupby(["model", "method"])["learning_rate"].transform("nunique") > 1
    )
    of_model = rates.dropna().groupby(frame["model"])
    if of_model.apply(frozenset).nunique() <= 1:
        return rates, "learning rate"
    return pd.Series(rates / rates.groupby(frame["model"]).transform("max")).round(
        3
    ), "share of the\nlargest learning rate"


FIGURE = _scored.ScoredKind(config=Config, layout=FrontierLayout, expand=expand, draw=draw, caption=CAPTION)

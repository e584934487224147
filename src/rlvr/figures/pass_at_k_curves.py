"""Pass@k over k, of tables or of arms on benchmarks: ours with intervals, next to the published curves."""

from typing import Any

import pandas as pd
from pydantic import model_validator

from rlvr import items
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item
from rlvr.figures import _scored
from rlvr.figures._looks import Axes, Figure, legend, looks
from rlvr.items import FIGURES, TABLES
from rlvr.items.scope import Scope


class Config(_scored.ScoredFigure):
    tables: list[str] = []  # pass@k tables; alternatively models, arms, benchmarks and k

    @model_validator(mode="after")
    def has_all_keys(self):
        for key in ("models", "arms", "sweep", "benchmark", "benchmarks", "k"):
            self.either(key, "tables")
        if not self.tables:
            self.has_curves("; or `tables`")
        return self


CAPTION = _scored.CAPTION
lay_out = _scored.lay_out
statistics = _scored.statistics


def expand(name: str, config: Config, scope: Scope) -> Item:
    for table in config.tables:
        item = look_up(scope.planned.tables, table, "table", f"{scope.place}.tables")
        if not items.hook(items.load(TABLES, item.content.kind), "CURVES", False):
            raise ConfigError(f"{scope.place}.tables: {table!r} has no curves; name a pass@k table")
    if config.tables:
        return Item(FIGURES, name, config, sources=tuple(config.tables))
    return _scored.expand(name, config, scope)


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: one row per model; per benchmark our curves with intervals, and the published curves."""
    import matplotlib.pyplot as plt

    frames = [frame.loc[frame["score"] == "pass"] for frame in frames]
    frames = [part for frame in frames for _, part in frame.groupby("benchmark", sort=False)]
    models = list(dict.fromkeys(model for frame in frames for model in frame["model"]))
    styles = looks((arm for frame in frames for arm in frame["arm"]), layout)
    size = (2.7 * 2 * len(frames) + 0.6, 2.6 * len(models) + 0.9)
    figure, grid = plt.subplots(len(models), 2 * len(frames), figsize=size, squeeze=False)
    for row, model in enumerate(models):
        for column, frame in enumerate(frames):
            rows = frame[frame["model"] == model]
            ours, theirs = grid[row][2 * column], grid[row][2 * column + 1]
            for arm, cell in rows.groupby("arm", sort=False):
                look = styles[str(arm)]
                style = {"color": look.color, "linestyle": look.linestyle, "marker": "o"}
                style["label"] = cell["label"].iloc[0]
                ours.plot(cell["k"], cell["value"], **style)
                ours.fill_between(cell["k"], cell["value_low"], cell["value_high"], color=style["color"], alpha=0.13)
                if cell["published"].notna().any():
                    theirs.plot(cell["k"], cell["published"], **style)
            benchmark = rows["benchmark"].iloc[0]
            _k_axis(ours, sorted(rows["k"].unique()), f"{rows['stand_in'].iloc[0]}\n{benchmark} stand-in, ours")
            if rows["stand_in"].iloc[0] == model:
                ours.set_title(f"{model}\n{benchmark}, ours")
            _k_axis(theirs, sorted(rows["k"].unique()), f"{model}\n{benchmark}, published")
            theirs.set_facecolor("#f7f7f4")
        grid[row][0].set_ylabel("pass@k (%)")
    legend(figure, grid.flat)
    return figure


def _k_axis(axes: Axes, ks: list[int], title: str) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("k")
    axes.set_title(title)

"""Pass@k over k, of tables or of arms on benchmarks: ours with intervals, their differences, the published curves."""

import pandas as pd
from pydantic import model_validator

from rlvr.config.plan import Item, Plan
from rlvr.figures import _scored
from rlvr.figures._looks import Look, looks
from rlvr.figures._panels import Axes, Figure, grid, legend, starts_line
from rlvr.figures._training import BANDS
from rlvr.items.layout import filled
from rlvr.items.scope import Scope

SPREAD = 0.25  # octaves of k; the intervals of many methods are drawn side by side over them


class Config(_scored.ScoredFigure):
    tables: list[str] = []  # pass@k tables; alternatively models, arms, benchmarks and k

    @model_validator(mode="after")
    def has_all_keys(self):
        for key in ("models", "arms", "sweep", "benchmark", "benchmarks", "k"):
            self.either(key, "tables")
        if not self.tables:
            self.has_curves("; or `tables`")
        return self


BASE = "base"  # its distance from trained policies would hide those between them
CAPTION = (
    f"{_scored.CAPTION} Beside the curves: each method minus the one that it is compared with. Shaded: the published "
    "curves, of the paper's own model and set, on the scale of ours."
)


CurvesLayout = _scored.ScoredLayout | _scored.OfTables  # of its own cells, or of tables


def lay_out(item: Item, plan: Plan, paper: str) -> CurvesLayout:
    return filled(_scored.ScoredLayout if item.cells else _scored.OfTables, item, plan, paper)


def expand(name: str, config: Config, scope: Scope) -> Item:
    return (_scored.expand_tables if config.tables else _scored.expand)(name, config, scope)


def draw(layout: CurvesLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model and benchmark our curves with intervals, and on the same scale the published ones."""
    frames = [frame.loc[frame["score"] == "pass"] for frame in frames]
    frames = [part for frame in frames for _, part in frame.groupby("benchmark", sort=False)]
    models = list(dict.fromkeys(model for frame in frames for model in frame["model"]))
    styles = looks((arm for frame in frames for arm in frame["arm"]), layout)
    published = any(frame["published"].notna().any() for frame in frames)
    compared = any(len(_compared(frame)) for frame in frames)
    sides = 1 + compared + published
    least = 1.65 if not compared and published else 3.3 if sides == 2 else 2.2  # the panels of a set stay in one line
    figure, blocks = grid([sides * len(frames)] * len(models), height=2.0, least=least, most=3.375 if compared else 2.5)
    for block, model in zip(blocks, models, strict=True):
        for panels, frame in zip(zip(*[iter(block)] * sides, strict=True), frames, strict=True):
            ours, *others = panels
            rows = frame[frame["model"] == model]
            _draw(ours, others[compared:], rows, model, styles)
            if compared:
                _differences(others[0], rows, styles)
    legend(figure)
    return figure


def _compared(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods that have a difference to the one that they are compared with."""
    return rows[rows["difference"].notna() & (rows["arm"] != BASE)] if "difference" in rows else rows.head(0)


def _draw(ours: Axes, theirs: list[Axes], rows: pd.DataFrame, model: str, styles: dict[str, Look]) -> None:
    """A model on a benchmark: our curves and, in a second panel, the published ones."""
    ks, benchmark, stand_in = sorted(rows["k"].unique()), rows["benchmark"].iloc[0], rows["stand_in"].iloc[0]
    _curves(ours, rows, "value", styles)
    for axes in theirs:
        for arm, cell in rows.groupby("arm", sort=False):
            axes.plot(cell["k"], cell["published"], **styles[str(arm)].curve(len(cell)), label=cell["label"].iloc[0])
    whose = ", ours" if theirs else ""
    _k_axis(ours, ks, f"{stand_in}, {benchmark}" + (" stand-in" if stand_in != model else "") + whose)
    if starts_line(ours):
        ours.set_ylabel("pass@k (%)")
    for axes in theirs:
        _k_axis(axes, ks, f"{model}, {benchmark}, published")
        axes.set_facecolor("#f7f7f4")
        axes.sharey(ours)
        axes.tick_params(labelleft=False)


def _differences(axes: Axes, rows: pd.DataFrame, styles: dict[str, Look]) -> None:
    """The methods minus the one that they are compared with, in percent points."""
    baseline = rows[rows["difference"].isna()]["label"]
    _curves(axes, _compared(rows), "difference", styles)
    axes.axhline(0, color="0.4", linewidth=0.7)
    _k_axis(axes, sorted(rows["k"].unique()), f"points minus {baseline.iloc[0]}" if len(baseline) else "points")


def _curves(axes: Axes, rows: pd.DataFrame, column: str, styles: dict[str, Look]) -> None:
    """A curve per arm with its intervals: bands of few arms, lines side by side of many."""
    methods = rows["arm"].nunique()
    for place, (arm, cell) in enumerate(rows.groupby("arm", sort=False)):
        look, low, high = styles[str(arm)], cell[f"{column}_low"], cell[f"{column}_high"]
        axes.plot(cell["k"], cell[column], **look.curve(len(cell)), label=cell["label"].iloc[0])
        if methods <= BANDS:
            axes.fill_between(cell["k"], low, high, color=look.color, alpha=0.13, lw=0)
        else:
            beside = cell["k"] * 2 ** (SPREAD * (place / (methods - 1) - 0.5))
            axes.vlines(beside, low, high, color=look.color, linewidth=0.7)


def _k_axis(axes: Axes, ks: list[int], title: str) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("k")
    axes.set_title(title)


FIGURE = _scored.ScoredKind(
    config=Config, layout=CurvesLayout, expand=expand, lay_out=lay_out, draw=draw, caption=CAPTION
)

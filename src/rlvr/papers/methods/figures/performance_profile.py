"""Performance profiles: the share of runs and problems solved at more than a rate, each method against a baseline.

The score distributions of Agarwal et al. 2021 (sec. 4.2), with the problems of a benchmark for tasks. A mean can hide
who gains on hard problems and who on easy ones; a profile shows both.
"""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layouts import ScoresLayout
from rlvr.config.measures import SHARE
from rlvr.figures import _scored
from rlvr.figures._panels import SMALL, Figure, grid
from rlvr.papers.methods.ranking import methods_at
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.run_rows import cell_columns
from rlvr.statistics.scores import Scores

CAPTION = (
    "First panel: the baseline's profile, the share of its runs × problems with more than a share of samples correct. "
    "Others: a method's profile less that one, in points. 95 % intervals over {seeds} training seeds × problems "
    "(Student's t), each share of samples alone."
)
RATES = tuple(i / 16 for i in range(16))
PERCENT = 100.0


class Config(_scored.ScoredFigure):
    compare_with: str


def statistics(layout: ScoresLayout, scores: Scores) -> pd.DataFrame:
    """One row per model, method and rate tau: share(c / n > tau) of runs and problems, and its gain on the baseline's.

    In percent and points, with intervals; the baseline's own gain is missing.
    """
    intervals, rows = SeedsAndProblems(layout.confidence, SHARE), []
    for methods in methods_at(layout, scores):
        base_SN = methods.pass_at(1, methods.baseline.policies)
        for cell in methods.cells:
            rate_SN = methods.pass_at(1, cell.policies)
            for tau in RATES:
                above_SN, of_base_SN = ((rates > tau).astype(np.float64) for rates in (rate_SN, base_SN))
                gain = None if cell is methods.baseline else intervals.of_difference(above_SN, of_base_SN)
                columns = {**cell_columns(cell), "benchmark": methods.benchmark, "seeds": len(rate_SN), "tau": tau}
                rows.append({**columns, **_percent("value", intervals.of(above_SN)), **_percent("gain", gain)})
    return pd.DataFrame(rows)


def _percent(name: str, interval: Any) -> dict[str, float | None]:
    parts = [None] * 3 if interval is None else [interval.estimate, interval.low, interval.high]
    return {
        name + end: None if part is None else PERCENT * part
        for end, part in zip(("", "_low", "_high"), parts, strict=True)
    }


def draw(layout: ScoresLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a panel per method, of one scale, with the methods that gain most on hard problems first."""
    frame, baseline = frames[0], layout.compare_with
    others = frame[frame["arm"] != baseline]
    order = others[others["tau"] == 0].sort_values("gain", ascending=False)
    panels = [(model, arm) for model, arm in zip(order["model"], order["arm"], strict=True)]
    first = list(dict.fromkeys(frame["model"]))
    figure, (block,) = grid([len(panels) + len(first)], height=1.2, least=1.3, most=1.6, sharex=True)
    limit = 1.05 * others[["gain_low", "gain_high"]].abs().to_numpy().max()
    for axes, (model, arm) in zip(block, [*((model, baseline) for model in first), *panels], strict=True):
        own = frame[(frame["model"] == model) & (frame["arm"] == arm)].sort_values("tau")
        name, color = ("value", "0.2") if arm == baseline else ("gain", "C0")
        axes.fill_between(PERCENT * own["tau"], own[f"{name}_low"], own[f"{name}_high"], color=color, alpha=0.25, lw=0)
        axes.plot(PERCENT * own["tau"], own[name], color=color, linewidth=1.2)
        axes.set_title(str(own["label"].iloc[0]), fontsize=SMALL)
        if arm == baseline:
            axes.set(ylim=(0, 100))
        else:
            axes.axhline(0, color="0.5", linewidth=0.6)
            axes.set(ylim=(-limit, limit))
    figure.supxlabel("more than this share of a problem's samples is correct (%)")
    figure.supylabel(f"share of runs × problems (%);\nothers: less {layout.compare_label}'s (points)")
    return figure


FIGURE = _scored.ScoredKind(
    config=Config,
    layout=ScoresLayout,
    expand=_scored.expand_methods,
    statistics=statistics,
    draw=draw,
    caption=CAPTION,
)

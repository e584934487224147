"""Held-out pass@k over k at some steps of training (FADE, Figure 13)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.measures import SHARE
from rlvr.config.schema.fields import Positive
from rlvr.figures import _curves_of_counts, _training
from rlvr.figures._panels import Figure, legend
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.pass_at_k import pass_at_ks
from rlvr.statistics.run_rows import RunRows, cell_columns

CAPTION = "Means over {seeds} training seeds, of the held-out problems of the probes."
PALE, FULL = 0.75, 0.1  # shades of the first and the last step


class Config(_training.TrainingFigure):
    curves: Positive = 5  # steps that are drawn, from the base policy to the end


class CurvesLayout(_training.TrainingLayout):
    curves: int


def statistics(layout: CurvesLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, probed step and k."""
    rows = []
    for cell in layout.cells:
        for step, counts in _curves_of_counts.by_seed(cell, runs, layout.up_to_step):
            ks = _curves_of_counts.ks_of(counts[0])
            curves_SK = np.array([pass_at_ks(of_seed, ks) for of_seed in counts])
            for i, k in enumerate(ks):
                numbers = mean_of_seeds(curves_SK[:, i], layout.confidence, SHARE)
                rows.append({**cell_columns(cell), "step": step, "measure": "pass", "k": k, **numbers})
    return pd.DataFrame(rows)


def draw(layout: CurvesLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per arm, a curve per step, from pale to dark."""
    figure, panels = _training.panels(frames[0], height=2.1, sharex=True, sharey=True)
    for axes, cell, first in panels:
        steps = sorted(cell["step"].unique())
        chosen = sorted({steps[round(i)] for i in np.linspace(0, len(steps) - 1, layout.curves)})
        for step, shade in zip(chosen, np.linspace(PALE, FULL, len(chosen)), strict=True):
            curve = cell[cell["step"] == step]
            style: dict[str, Any] = {"color": str(shade), "marker": "o", "markersize": 2.5}
            axes.plot(curve["k"], 100 * curve["value"], **style, label=f"step {step}")
        axes.set_xscale("log", base=2)
        ks = [k for k in sorted(cell["k"].unique()) if k & (k - 1) == 0]
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.set(xlabel="k", ylabel="pass@k (%)" if first else None)
    legend(figure)
    return figure


FIGURE = _training.TrainingKind(config=Config, layout=CurvesLayout, statistics=statistics, draw=draw, caption=CAPTION)

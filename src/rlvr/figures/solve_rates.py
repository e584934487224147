"""Shares of prompts by solve rate, stacked, over training steps."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from rlvr.config.measures import METRICS
from rlvr.config.schema.fields import Positive
from rlvr.figures import _training
from rlvr.figures._panels import Figure, legend
from rlvr.statistics.run_rows import RunRows, cell_columns, in_range, running_mean, value_of

CAPTION = "Means over {seeds} training seeds."
# Bins of groups by their number c of correct responses of G; a group belongs to the first bin that fits.
BINS: dict[str, Callable[[int, int], bool]] = {
    "0": lambda c, rollouts: c == 0,
    "1": lambda c, rollouts: c == rollouts,
    "(0, 1/4]": lambda c, rollouts: 4 * c <= rollouts,
    "(1/4, 1/2]": lambda c, rollouts: 2 * c <= rollouts,
    "(1/2, 1)": lambda c, rollouts: True,
}
IN_ORDER = ("0", "(0, 1/4]", "(1/4, 1/2]", "(1/2, 1)", "1")
IN_WORDS = {"0": "none", "1": "all"}
# From no correct response to all: brown to violet (ColorBrewer's PuOr), safe for colour-blind readers.
SHADES = {"0": "#b35806", "(0, 1/4]": "#fdb863", "(1/4, 1/2]": "#e6e6ee", "(1/2, 1)": "#b2abd2", "1": "#542788"}


class Config(_training.TrainingFigure):
    smooth: Positive | None = None  # steps of a running mean


class SolveRatesLayout(_training.TrainingLayout):
    smooth: int | None


def statistics(layout: SolveRatesLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, step and bin of solve rates: the share of drawn prompts, a mean over seeds."""
    rows = []
    for cell in layout.cells:
        shares_of: dict[tuple[int, str], list[float]] = {}
        for run in cell.policies:
            for step, shares in _binned(runs, run, layout.smooth):
                for name, share in shares.items():
                    shares_of.setdefault((step, name), []).append(share)
        steps = in_range(sorted({step for step, _ in shares_of}), layout.up_to_step)
        rows += [
            {
                **cell_columns(cell),
                "step": step,
                "measure": "solve_rates",
                "bin": name,
                "value": float(np.mean(shares_of[step, name])),
                "seeds": len(shares_of[step, name]),
            }
            for step in steps
            for name in IN_ORDER
            if (step, name) in shares_of
        ]
    return pd.DataFrame(rows)


def _binned(runs: RunRows, run: str, smooth: int | None) -> list[tuple[int, dict[str, float]]]:
    """Each step's shares of prompts by bin, without bins that are empty for this group size."""
    rows = runs[run][METRICS]
    counts = np.array([value_of(row, "solve_rates", run) for row in rows], dtype=float)
    rollouts = counts.shape[1] - 1
    bin_of_c = [next(name for name, holds in BINS.items() if holds(c, rollouts)) for c in range(rollouts + 1)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    columns = {name: shares[:, [of == name for of in bin_of_c]].sum(axis=1) for name in dict.fromkeys(bin_of_c)}
    smoothed = {name: running_mean(list(s), smooth) if smooth else list(s) for name, s in columns.items()}
    return [(row["step"], {name: values[i] for name, values in smoothed.items()}) for i, row in enumerate(rows)]


def draw(layout: SolveRatesLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: stacked shares of prompts, one panel per arm, models in separate rows."""
    from matplotlib.ticker import MaxNLocator

    figure, panels = _training.panels(frames[0], height=2.0, sharex=True, sharey=True)
    smooth = f"\nmean of last {layout.smooth} steps" if layout.smooth else ""
    for axes, cell, first in panels:
        wide = cell.pivot(index="step", columns="bin", values="value")
        bins = [name for name in SHADES if name in wide]
        axes.stackplot(
            wide.index,
            [wide[name] for name in bins],
            colors=[SHADES[name] for name in bins],
            labels=[f"correct: {IN_WORDS.get(name, name)}" for name in bins],
            edgecolor="white",
            linewidth=0.3,
        )
        axes.set(xlabel="training step", ylabel=f"share of prompts{smooth}" if first else None)
        begin, end = cell["step"].min(), cell["step"].max()
        axes.set(xlim=(begin, max(end, begin + 1)), ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(False)
    legend(figure)
    return figure


FIGURE = _training.TrainingKind(
    config=Config, layout=SolveRatesLayout, statistics=statistics, draw=draw, caption=CAPTION
)

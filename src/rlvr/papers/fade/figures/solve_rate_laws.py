"""Solve rates at some steps of training, with Beta-binomial fits of one and of two parts (FADE, Figure 10)."""

import numpy as np
import pandas as pd

from rlvr.figures import _curves_of_counts, _training
from rlvr.figures._panels import Figure, grid, legend
from rlvr.papers.fade.scaling import MIXTURES, fit_mixture, shares
from rlvr.statistics.intervals import over_seeds
from rlvr.statistics.run_rows import RunRows, cell_columns

CAPTION = "Bars: shares of held-out problems, over {seeds} training seeds together; lines: fits to them."
LINES = dict(zip(MIXTURES, ("--", "-"), strict=True))
PARTS = (0.0, 0.5, 1.0)  # of the probed steps


def statistics(layout: _training.TrainingLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, step and number c of correct samples: the share of problems, and of both fits.

    `mse` and `mse_low`, `mse_high` are of the fit: to all seeds together, and Student's t over fits of each seed.
    """
    rows = []
    for cell in layout.cells:
        steps = list(_curves_of_counts.by_seed(cell, runs, layout.up_to_step))
        for place in sorted({round(part * (len(steps) - 1)) for part in PARTS}):
            step, counts = steps[place]
            together = np.sum(counts, axis=0)
            observed = together / together.sum()
            head = {**cell_columns(cell), "step": step, "seeds": len(counts)}
            rows += [{**head, "measure": "observed", "correct": c, "value": share} for c, share in enumerate(observed)]
            for law, of in MIXTURES.items():
                found = fit_mixture(together, law)
                errors_S = np.array([fit_mixture(of_seed, law).mse for of_seed in counts])
                interval = over_seeds(errors_S, layout.confidence)
                pairs = zip(of.names, found.parameters, strict=True)
                parameters = " ".join(f"{name}={value:.3g}" for name, value in pairs)
                errors = {"mse": found.mse, "mse_low": interval.low, "mse_high": interval.high}
                rows += [
                    {**head, "measure": law, "correct": c, "value": share, **errors, "parameters": parameters}
                    for c, share in enumerate(shares(found.parameters, len(together) - 1))
                ]
    return pd.DataFrame(rows)


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one row per model and arm, one column per step."""
    frame = frames[0]
    groups = list(frame.groupby(["model", "arm"], sort=False))
    figure, blocks = grid([rows["step"].nunique() for _, rows in groups], height=1.9, sharey="row")
    for line, (_, rows) in zip(blocks, groups, strict=True):
        for axes, (step, part) in zip(line, rows.groupby("step"), strict=True):
            seen = part[part["measure"] == "observed"]
            rates = seen["correct"] / seen["correct"].max()
            axes.bar(rates, seen["value"], width=0.8 / len(seen), color="0.8", label="observed")
            for name, style in LINES.items():
                fitted = part[part["measure"] == name]
                axes.plot(rates, fitted["value"], style, color="#0072B2", linewidth=1.2, label=name)
            axes.set_title(f"{rows['label'].iloc[0]}, step {step}")
            axes.set_xlabel("solve rate")
        line[0].set_ylabel("share of problems")
    legend(figure)
    return figure


FIGURE = _training.TrainingKind(statistics=statistics, draw=draw, caption=CAPTION)

"""The shifted power law of pass@k during training: its level a and its slope b (FADE, Figure 6, left)."""

import numpy as np
import pandas as pd

from rlvr.figures import _curves_of_counts, _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, grid, legend
from rlvr.items.rows import mean_of_seeds
from rlvr.papers.fade.law_claims import LAW, PARAMETERS
from rlvr.papers.fade.scaling import fit
from rlvr.statistics.pass_at_k import pass_at_ks
from rlvr.statistics.run_rows import RunRows, by_seed, cell_columns

CAPTION = (
    "Means over fits to {seeds} training seeds, with their 95 % intervals (Student's t) as bands, or for more than two "
    "methods the seeds as thin lines. Right: from the base policy to the end (large)."
)
NAMES = {"a": "a (level)", "b": "b (slope)"}


def statistics(layout: _training.TrainingLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm, probed step and parameter: the mean of fits to each seed's held-out pass@k."""
    rows = []
    for cell in layout.cells:
        for step, counts in _curves_of_counts.by_seed(cell, runs, layout.up_to_step):
            ks = _curves_of_counts.ks_of(counts[0])
            fits = [fit(LAW, np.array(ks, float), pass_at_ks(of_seed, ks)) for of_seed in counts]
            for i, name in enumerate(PARAMETERS):
                values_S = np.array([found.parameters[i] for found in fits])
                row = {**cell_columns(cell), "step": step, "measure": name}
                row |= mean_of_seeds(values_S, layout.confidence)
                row["mse"] = float(np.mean([found.mse for found in fits]))
                rows.append({**row, "by_seed": by_seed(values_S)})
    return pd.DataFrame(rows)


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one row per model; a over steps, b over steps, and the path of (a, b)."""
    frame = frames[0]
    models, styles = list(dict.fromkeys(frame["model"])), looks(frame["arm"], layout)
    figure, blocks = grid([3] * len(models), height=2.2)
    for line, model in zip(blocks, models, strict=True):
        rows = frame[frame["model"] == model]
        for place, (arm, cell) in enumerate(rows.groupby("arm", sort=False)):
            look = styles[str(arm)]
            for axes, (name, words) in zip(line, NAMES.items(), strict=False):
                _training.draw_line(axes, cell[cell["measure"] == name], look, place, rows["arm"].nunique())
                axes.set(xlabel="training step", ylabel=words)
            path = cell.pivot(index="step", columns="measure", values="value")
            line[2].plot(path["a"], path["b"], color=look.color, linestyle=look.linestyle)
            line[2].plot(path["a"].iloc[-1:], path["b"].iloc[-1:], **look.point, markersize=6)
        line[2].set(xlabel="a", ylabel="b")
        if len(models) > 1:
            line[0].set_title(str(rows["stand_in"].iloc[0]))
        for axes, name in zip(line, NAMES, strict=False):
            values = rows.loc[rows["measure"] == name, "value"]
            margin = 0.25 * float(values.max() - values.min()) + 1e-3
            axes.set_ylim(float(values.min()) - margin, float(values.max()) + margin)
    legend(figure)
    return figure


FIGURE = _training.TrainingKind(statistics=statistics, draw=draw, caption=CAPTION)

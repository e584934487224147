"""The change of weights by kind of matrix and layer: shares of |dW|^2 and of rank 1 (FADE, App. 15.1)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.measures import SHARE
from rlvr.figures import _training
from rlvr.figures._panels import SMALL, Figure, grid
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.run_rows import cell_columns

CAPTION = "Means over {seeds} training seeds, at the end of training."
MEASURES = {"share": "share of ‖ΔW‖² (%)", "rank_1_share": "rank-1 share (%)"}


def statistics(layout: _training.TrainingLayout, weights_summary: dict[str, Any]) -> pd.DataFrame:
    """One row per model, arm, matrix of a layer and measure: the mean over seeds, with Student's t.

    Raises KeyError where a run's summary is older than its `shares`.
    """
    rows = []
    for cell in layout.cells:
        for name in weights_summary[cell.policies[0]]["layers"]:
            if not name.startswith("model.layers."):
                continue  # the output head
            _, _, layer, *matrix = name.split(".")
            for measure in MEASURES:
                values_S = np.array([_value(weights_summary, run, name, measure) for run in cell.policies])
                row = {**cell_columns(cell), "layer": int(layer), "matrix": ".".join(matrix[:-1])}
                rows.append({**row, "measure": measure, **mean_of_seeds(values_S, layout.confidence, SHARE)})
    return pd.DataFrame(rows)


def _value(weights_summary: dict[str, Any], run: str, name: str, measure: str) -> float:
    summary = weights_summary[run]
    if "shares" not in summary:
        raise KeyError(f"{run}: no shares in its summary.json, which is older than this figure; measure it again")
    value = summary["layers"][name][0] if measure == "rank_1_share" else summary["shares"].get(name)
    return float("nan") if value is None else value


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a row per model and measure, a panel per arm with matrices over layers."""
    frame = frames[0]
    models = list(dict.fromkeys(frame["model"]))
    lines = [(model, measure) for model in models for measure in MEASURES]
    counts = [frame[frame["model"] == model]["arm"].nunique() for model, _ in lines]
    figure, blocks = grid(counts, height=1.6, least=1.6, most=2.2, sharey="row")
    for line, (model, measure) in zip(blocks, lines, strict=True):
        rows = frame[(frame["model"] == model) & (frame["measure"] == measure)]
        highest, image = 100 * float(rows["value"].max()), None
        for axes, (_, cell) in zip(line, rows.groupby("arm", sort=False), strict=True):
            table = cell.pivot(index="matrix", columns="layer", values="value")
            image = axes.imshow(100 * table.to_numpy(), vmin=0, vmax=highest, cmap="viridis", aspect="auto")
            axes.set_yticks(range(len(table)), [str(name) for name in table.index], fontsize=SMALL)
            axes.set(title=cell["label"].iloc[0], xlabel="layer")
            axes.grid(False)
        if image is not None:
            of_model = f"{rows['stand_in'].iloc[0]}: " if len(models) > 1 else ""
            figure.colorbar(image, ax=line, shrink=0.8, label=f"{of_model}{MEASURES[measure]}")
    return figure


FIGURE = _training.TrainingKind(statistics=statistics, reads=("weights_summary",), draw=draw, caption=CAPTION)

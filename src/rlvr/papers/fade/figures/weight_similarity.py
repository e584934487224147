"""Cosines between the changes of weights of methods, ordered by hierarchical clustering (FADE, App. 15.1)."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rlvr.figures import _training
from rlvr.figures._panels import SMALL, WIDTH, Figure
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.run_rows import cell_columns

CAPTION = "Means over {seeds} training seeds; methods are paired by seed, so both start from one base policy."
MOST_NUMBERS = 10  # methods up to which each cosine has room for its number


def statistics(layout: _training.TrainingLayout, weights_summary: dict[str, Any]) -> pd.DataFrame:
    """One row per model and pair of arms: the mean cosine of their changes over seeds, with Student's t.

    From sketches, whose cosines are off by about 1 / sqrt(8192) each.
    """
    rows = []
    for cells in layout.by_model().values():
        for left, right in combinations(cells, 2):
            pairs = zip(left.policies, right.policies, strict=True)
            cosines_S = [_cosine(weights_summary[a]["sketch"], weights_summary[b]["sketch"]) for a, b in pairs]
            row = cell_columns(left, [*left.policies, *right.policies])
            row |= {"other": right.arm, "other_label": right.label, "measure": "cosine"}
            rows.append({**row, **mean_of_seeds(cosines_S, layout.confidence)})
    return pd.DataFrame(rows)


def _cosine(a: list[float], b: list[float]) -> float:
    left, right = np.array(a), np.array(b)
    return float(left @ right / max(np.linalg.norm(left) * np.linalg.norm(right), 1e-300))


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model a tree of methods (average linkage of 1 - cosine) and their cosines in its order."""
    import matplotlib.pyplot as plt
    from scipy.cluster.hierarchy import dendrogram, linkage

    frame = frames[0]
    models = list(dict.fromkeys(frame["model"]))
    names = list(dict.fromkeys([*frame["label"], *frame["other_label"]]))
    size = (min(WIDTH, 0.45 * len(names) + 3.4), (0.3 * len(names) + 1.5) * len(models))
    figure, grid = plt.subplots(len(models), 2, figsize=size, squeeze=False, width_ratios=[1, 3])
    legible = len(names) <= MOST_NUMBERS
    for (tree, heat), model in zip(grid, models, strict=True):
        rows = frame[frame["model"] == model]
        labels = [name for name in names if name in set(rows["label"]) | set(rows["other_label"])]
        cosine = np.eye(len(labels))
        for row in rows.to_dict("records"):
            i, j = labels.index(row["label"]), labels.index(row["other_label"])
            cosine[i, j] = cosine[j, i] = row["value"]
        apart = 1 - cosine[np.triu_indices(len(labels), 1)]
        made = dendrogram(
            linkage(np.maximum(apart, 0), "average"), orientation="left", labels=labels, ax=tree, color_threshold=0,
            above_threshold_color="0.3", leaf_font_size=SMALL,
        )  # fmt: skip
        order = made["leaves"][::-1]
        image = heat.imshow(
            cosine[np.ix_(order, order)], vmin=-1, vmax=1, cmap="RdBu_r", aspect="auto"
        )  # rows as high as the tree's
        for i, j in np.ndindex(cosine.shape) if legible else ():
            heat.text(j, i, f"{cosine[order[i], order[j]]:.2f}", ha="center", va="center", fontsize=SMALL)
        heat.set_xticks(range(len(order)), [labels[i] for i in order], rotation=40, ha="right")
        heat.set_yticks([])
        heat.grid(False)
        heat.set_title(str(rows["stand_in"].iloc[0]) if len(models) > 1 else "")
        tree.set_xlabel("1 − cosine")
        tree.grid(False)
        figure.colorbar(image, ax=heat, shrink=0.7, label="cosine of ΔW")
    return figure


FIGURE = _training.TrainingKind(statistics=statistics, reads=("weights_summary",), draw=draw, caption=CAPTION)

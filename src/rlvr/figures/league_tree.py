"""A tree of methods at equal pass@1: those joined below the line cannot be told apart."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layers import look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Row
from rlvr.figures import _scored
from rlvr.figures._looks import Figure
from rlvr.items import FIGURES
from rlvr.items.layout import with_scores
from rlvr.items.scope import Scope
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.league import at_equal
from rlvr.statistics.run_rows import cell_columns
from rlvr.statistics.scores import Scores
from rlvr.statistics.table_rows import frames_of, holm

CAPTION = "Of {seeds} training seeds. Left of the line: no pair of a branch differs at 5 % after Holm's correction."


class Config(_scored.ScoredFigure):
    matched: str  # a sweep of learning rates
    compare_with: str | None = None  # whose pass@1 all methods have; a league's


def expand(name: str, config: Config, scope: Scope) -> Item:
    look_up(scope.paper.sweeps, config.matched, "sweep", f"{scope.place}.matched")
    models, rows = scope.models(config.models), [Row(arm=arm, label=scope.label_with_value(arm)) for arm in config.arms]
    evaluations = scope.evaluations(config.over(), models, config.k)
    cells = scope.cells(models, rows, matched=config.matched, seeds=config.seeds)
    return Item(FIGURES, name, config, cells, evaluations, tuple(config.over()))


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    return with_scores(item, plan, paper)


def statistics(layout: dict[str, Any], scores: Scores) -> pd.DataFrame:
    """One row per model and pair of methods: the difference at equal pass@1, its p, and Holm's of all pairs."""
    (panel,) = layout["panels"]
    intervals, rows = SeedsAndProblems(layout["statistics"]["confidence"]), []
    for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
        cells = [cell for cell in layout["cells"] if cell["model"] == model]
        baseline = next(cell for cell in cells if cell["arm"] == layout["compare_with"])
        frames = frames_of(scores, cells, panel["evaluations"][model])
        found = [(cell, at_equal(cell, baseline, frames, layout["k"][-1])) for cell in cells]
        reached = [(cell, values) for cell, values in found if values is not None]
        for (left, ours), (right, theirs) in combinations(reached, 2):
            difference = intervals.of_difference(ours, theirs)
            rows.append(
                {
                    **cell_columns({**left, "policies": [*left["policies"], *right["policies"]]}),
                    **{"other": right["arm"], "other_label": right["label"], "benchmark": panel["name"]},
                    **{"value": 100 * difference.estimate, "value_low": 100 * difference.low},
                    **{"value_high": 100 * difference.high, "p": difference.p, "seeds": len(ours)},
                }
            )
    frame = pd.DataFrame(rows)
    return frame.assign(p_holm=holm(frame["p"]))


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model a dendrogram by complete linkage of 1 - p: a branch is as far as its farthest pair."""
    import matplotlib.pyplot as plt
    from scipy.cluster.hierarchy import dendrogram, linkage

    frame, level = frames[0], 1 - layout["statistics"]["confidence"]
    models = list(dict.fromkeys(frame["model"]))
    names = list(dict.fromkeys([*frame["label"], *frame["other_label"]]))
    figure, grid = plt.subplots(1, len(models), figsize=(5.6 * len(models) + 1, 0.24 * len(names) + 1.3), squeeze=False)
    for axes, model in zip(grid[0], models, strict=True):
        rows = frame[frame["model"] == model]
        labels = [name for name in names if name in {*rows["label"], *rows["other_label"]}]
        apart = np.zeros((len(labels), len(labels)))
        for row in rows.to_dict("records"):
            i, j = labels.index(row["label"]), labels.index(row["other_label"])
            apart[i, j] = apart[j, i] = 1 - row["p_holm"]
        joined = linkage(apart[np.triu_indices(len(labels), 1)], "complete")
        dendrogram(
            joined, orientation="left", labels=labels, ax=axes, color_threshold=1 - level, above_threshold_color="0.6"
        )
        axes.axvline(1 - level, color="0.3", linestyle="--", linewidth=0.8)
        axes.set(xlabel="1 − p of a difference (Holm)", title=str(rows["stand_in"].iloc[0]))
        axes.grid(False)
    return figure

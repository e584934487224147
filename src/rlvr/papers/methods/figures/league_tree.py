"""A tree of methods by their distance from the baseline's curve: those joined below the line cannot be told apart."""

import textwrap
from itertools import combinations

import numpy as np
import pandas as pd

from rlvr.config.layouts import ScoresLayout
from rlvr.config.measures import SHARE
from rlvr.config.plan import Item
from rlvr.figures import _scored
from rlvr.figures._panels import LETTERS, SMALL, Figure, grid, nothing
from rlvr.items.scope import Scope
from rlvr.papers.methods.ranking import methods_at
from rlvr.statistics.intervals import SeedsAndProblems, two_way
from rlvr.statistics.run_rows import cell_columns
from rlvr.statistics.scores import Scores
from rlvr.statistics.table_rows import false_discovery
from rlvr.tables._methods import curve_of

CAPTION = (
    "Of {seeds} training seeds. Left of the line: no pair of a branch differs; of those that do, at most 5 % are "
    "expected to be false (Benjamini & Hochberg)."
)
POWER = 0.8
COLUMNS = [
    *("model", "stand_in", "arm", "label", "policies", "other", "other_label", "benchmark"),
    *("value", "value_low", "value_high", "p", "seeds"),
]


class Config(_scored.ScoredFigure):
    matched: str  # a sweep of the baseline's learning rates
    compare_with: str  # the baseline; a league's


def expand(name: str, config: Config, scope: Scope) -> Item:
    return _scored.expand_methods(name, config, scope, curve=curve_of(config, scope))


def statistics(layout: ScoresLayout, scores: Scores) -> pd.DataFrame:
    """One row per model and pair of methods: the difference of their distances from the baseline's curve, each at its
    own pass@1; its p, and q, adjusted for all pairs.

    q is Benjamini & Hochberg's. `detectable` is the difference that a pair of its spread shows in 80 % of repetitions,
    at the p up to which q is at most 5 %: its t beyond which that p lies, plus the t with 80 % below, errors each.
    """
    confidence, rows, spreads = layout.confidence, [], []
    intervals = SeedsAndProblems(confidence, SHARE)
    for methods in methods_at(layout, scores):
        found = [(cell, methods.at_equal(layout.k[-1], cell)) for cell in methods.cells]
        reached = [(cell, values) for cell, values in found if values is not None]
        for (left, ours), (right, theirs) in combinations(reached, 2):
            difference = intervals.of_difference(ours, theirs)
            spreads.append(two_way(ours - theirs))
            rows.append(
                {
                    **cell_columns(left, [*left.policies, *right.policies]),
                    **{"other": right.arm, "other_label": right.label, "benchmark": methods.benchmark},
                    **{"value": 100 * difference.estimate, "value_low": 100 * difference.low},
                    **{"value_high": 100 * difference.high, "p": difference.p, "seeds": len(ours)},
                }
            )
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame = frame.assign(q=false_discovery(frame["p"]))
    apart = int((frame["q"] <= 1 - confidence).sum())
    p = (1 - confidence) * max(apart, 1) / max(len(frame), 1)
    return frame.assign(detectable=[100 * (one.half_width(p / 2) + one.half_width(1 - POWER)) for one in spreads])


def draw(layout: ScoresLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model a dendrogram by complete linkage of 1 - p: a branch is as far as its farthest pair."""
    from scipy.cluster.hierarchy import dendrogram, linkage

    frame, level = frames[0], 1 - layout.confidence
    if frame.empty:
        return nothing(f"No two methods are on the curve of {layout.compare_label}.")
    models = list(dict.fromkeys(frame["model"]))
    label_of = dict(zip([*frame["arm"], *frame["other"]], [*frame["label"], *frame["other_label"]], strict=True))
    figure, (block,) = grid([len(models)], height=0.17 * len(label_of) + 1.2, least=5.6, most=6.6)
    for axes, model in zip(block, models, strict=True):
        rows = frame[frame["model"] == model]
        arms = [arm for arm in label_of if arm in {*rows["arm"], *rows["other"]}]
        apart = np.zeros((len(arms), len(arms)))
        for row in rows.to_dict("records"):
            i, j = arms.index(row["arm"]), arms.index(row["other"])
            apart[i, j] = apart[j, i] = 1 - row["q"]
        joined = linkage(apart[np.triu_indices(len(arms), 1)], "complete")
        labels = [label_of[arm] for arm in arms]
        dendrogram(
            joined, orientation="left", labels=labels, ax=axes, color_threshold=1 - level, above_threshold_color="0.6",
            leaf_font_size=SMALL,
        )  # fmt: skip
        axes.axvline(1 - level, color="0.3", linestyle="--", linewidth=0.8)
        axes.set(xlabel="1 − q of a difference", title=str(rows["stand_in"].iloc[0]) if len(models) > 1 else "")
        axes.grid(False)
    width = int(LETTERS * figure.get_figwidth())
    figure.supxlabel("\n".join(textwrap.fill(line, width) for line in _notes(layout, frame, level)))
    return figure


def _notes(layout: ScoresLayout, frame: pd.DataFrame, level: float) -> list[str]:
    """What the pairs could show, and the methods that are in none."""
    apart = frame.loc[frame["q"] <= level]
    smallest = f", by {apart['value'].abs().min():.1f} points and more" if len(apart) else ""
    notes = [
        f"{len(apart)} of {len(frame)} pairs differ at pass@{layout.k[-1]}{smallest}. A difference of "
        f"{frame['detectable'].median():.1f} points is found with {100 * POWER:.0f} % power (the median pair)."
    ]
    shown = {*zip(frame["model"], frame["arm"], strict=True), *zip(frame["model"], frame["other"], strict=True)}
    lost = [cell.label for cell in layout.cells if (cell.model, cell.arm) not in shown]
    reach = f"With a pass@1 that {layout.compare_label} has at no learning rate"
    return [*notes, *([f"{reach}: {', '.join(lost)}."] if lost else [])]


FIGURE = _scored.ScoredKind(
    config=Config, layout=ScoresLayout, expand=expand, statistics=statistics, draw=draw, caption=CAPTION
)

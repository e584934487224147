"""Laws of pass@k over k, fitted up to a budget and drawn beyond it (FADE, Figures 11 and 12)."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.layouts import ScoresLayout, Spec
from rlvr.config.schema.fields import Positive
from rlvr.figures import _scored
from rlvr.figures._looks import looks as looks_of
from rlvr.figures._panels import Figure, grid, legend
from rlvr.items.rows import mean_of_seeds
from rlvr.papers.fade import law_claims
from rlvr.papers.fade.scaling import LAWS, MIXTURES, fit, fit_solve_rates
from rlvr.statistics.run_rows import cell_columns
from rlvr.statistics.scores import Scores, pass_at
from rlvr.statistics.table_rows import blocks, frames_of

CAPTION = "Points: means over {seeds} training seeds. Lines: fits to them, drawn beyond the k that they saw."
LINES = {
    "shifted power law": "-",
    "power law": "--",
    "exponential law": ":",
    "Beta-binomial": "-.",
    "two Beta-binomials": (0, (4, 1, 1, 1, 1, 1)),
}
Laws = list[Literal["shifted power law", "power law", "exponential law", "Beta-binomial", "two Beta-binomials"]]
EVERY: Any = list(LAWS)


class Config(_scored.ScoredFigure):
    budgets: list[Positive] = Field(min_length=1)  # the largest k of each fit
    by_level: bool = False  # one panel per level of the problems
    laws: Laws = Field(EVERY, min_length=1)

    @model_validator(mode="after")
    def has_all_keys(self):
        self.has_curves()
        return self


class Fits(Spec):
    """What laws are fitted to."""

    budgets: tuple[int, ...]
    by_level: bool = False
    laws: tuple[str, ...]


class OfLaws(ScoresLayout, Fits):
    pass


class LawsLayout(_scored.ScoredLayout, Fits):
    pass


def statistics(layout: OfLaws | LawsLayout, scores: Scores) -> pd.DataFrame:
    """One row per benchmark, level, model, arm, budget and law: its parameters with Student's t over fits of each seed.

    `mse` is of the law through the mean curve: over the k of the budget, and in `mse_beyond` over the k above it. The
    distributions of solve rates are fitted to the numbers of correct samples among as many as the budget has.
    Rows of the law "observed" hold the mean curve itself, by k.
    """
    rows: list[dict[str, Any]] = []
    for panel, cells, _ in blocks(layout):
        frames = frames_of(scores, cells, panel.evaluations[cells[0].model], panel.levels)
        first = frames[cells[0].policies[0]]
        for level in sorted(set(first["level"])) if layout.by_level else [""]:
            for cell in cells:
                head = {**cell_columns(cell), "benchmark": panel.name, "level": level}
                chosen = [frames[policy] for policy in cell.policies]
                chosen = [frame[frame["level"] == level] for frame in chosen] if level else chosen
                rows += _of_seeds(head, chosen, layout)
    return pd.DataFrame(rows)


def _of_seeds(head: dict[str, Any], frames: list[pd.DataFrame], layout: OfLaws | LawsLayout) -> list[dict[str, Any]]:
    ks, seeds = np.array(layout.k, float), len(frames)
    curves_SK = np.array([[float(pass_at(k)(frame).mean()) for k in layout.k] for frame in frames])
    counts = [np.bincount(frame["correct"], minlength=int(frame["n"].max()) + 1) for frame in frames]
    mean_K = curves_SK.mean(axis=0)
    rows: list[dict[str, Any]] = [
        {**head, "law": "observed", "budget": 0, "parameter": "", "k": k, "value": value, "seeds": seeds}
        for k, value in zip(layout.k, mean_K, strict=True)
    ]

    def parameters(law: str, budget: int, curve_K: np.ndarray, of: np.ndarray) -> tuple[float, ...]:
        seen = ks <= budget
        return fit_solve_rates(law, of, budget) if law in MIXTURES else fit(law, ks[seen], curve_K[seen]).parameters

    for budget in layout.budgets:
        seen = ks <= budget
        for law in layout.laws:
            if int(seen.sum()) < len(LAWS[law].names) and law not in MIXTURES:
                continue  # fewer points than parameters
            whole = parameters(law, budget, mean_K, np.sum(counts, axis=0))
            of_seeds = [parameters(law, budget, *pair) for pair in zip(curves_SK, counts, strict=True)]
            errors_K = (LAWS[law].function(ks, *whole) - mean_K) ** 2
            mse = float(errors_K[seen].mean())
            beyond = float(errors_K[~seen].mean()) if (~seen).any() else float("nan")
            for i, name in enumerate(LAWS[law].names):
                numbers = mean_of_seeds([found[i] for found in of_seeds], layout.confidence, LAWS[law].possible[i])
                numbers |= {"value": whole[i], "mse": mse, "mse_beyond": beyond}
                rows.append({**head, "law": law, "budget": budget, "parameter": name, **numbers})
    return rows


def draw(layout: LawsLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a row per benchmark or level, a column per budget; points are ours, each law a line."""
    frame = frames[0].assign(level=frames[0]["level"].astype(object).fillna(""))
    parts = list(frame.groupby(["model", "benchmark", "level"], sort=False))
    styles, budgets = looks_of(frame["arm"], layout), layout.budgets
    figure, blocks = grid([len(budgets)] * len(parts), height=2.2, sharey="row")
    ks = np.array(layout.k, float)
    dense = np.geomspace(ks[0], ks[-1], 100)
    for line, ((_, benchmark, level), rows) in zip(blocks, parts, strict=True):
        names = [*([rows["stand_in"].iloc[0]] if frame["model"].nunique() > 1 else []), benchmark, level]
        for axes, budget in zip(line, budgets, strict=True):
            for arm, cell in rows.groupby("arm", sort=False):
                look = styles[str(arm)]
                seen = cell[cell["law"] == "observed"]
                axes.plot(seen["k"], 100 * seen["value"], **look.point, linestyle="", label=cell["label"].iloc[0])
                for law, fitted in cell[cell["budget"] == budget].groupby("law", sort=False):
                    if law == "observed":
                        continue
                    values = LAWS[str(law)].function(dense, *fitted["value"])
                    axes.plot(dense, 100 * values, linestyle=LINES[str(law)], color=look.color, linewidth=1)
            axes.axvline(budget, color="0.7", linewidth=0.8)
            axes.set_xscale("log")
            axes.set_xticks(ks, [f"{k:g}" for k in ks])
            axes.minorticks_off()
            axes.set(title=f"{', '.join(filter(None, names))}, fitted up to k = {budget}", xlabel="k")
        line[0].set_ylabel("pass@k (%)")
    for law in layout.laws:
        blocks[0][0].plot([], [], linestyle=LINES[law], color="0.3", label=law)
    legend(figure)
    return figure


FIGURE = _scored.ScoredKind(
    config=Config, layout=LawsLayout, statistics=statistics, claims=law_claims.CLAIMS, draw=draw, caption=CAPTION
)

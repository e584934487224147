"""Laws of pass@k and distributions of solve rates: parameters and errors (FADE, sec. 12, Figures 10 and 11)."""

import pandas as pd
from pydantic import Field

from rlvr.config.measures import ANY
from rlvr.config.schema.fields import Positive
from rlvr.items import TableKind
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.figures import pass_at_k_laws
from rlvr.papers.fade.figures.pass_at_k_laws import OfLaws
from rlvr.statistics.scores import Scores
from rlvr.statistics.shown import brackets
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable


class Config(BenchmarksTable):
    k: list[Positive] = Field(min_length=1)
    budgets: list[Positive] = Field(min_length=1)  # the largest k of each fit
    laws: pass_at_k_laws.Laws = Field(pass_at_k_laws.EVERY, min_length=1)


def statistics(layout: OfLaws, scores: Scores) -> pd.DataFrame:
    """One row per benchmark, model, arm, budget, law and parameter (`rlvr.papers.fade.figures.pass_at_k_laws`)."""
    frame = pass_at_k_laws.statistics(layout, scores)
    return frame[frame["law"] != "observed"].drop(columns=["k", "level"])


def render(layout: OfLaws, statistics: pd.DataFrame) -> Rendered:
    """The table: a row per method, budget and law."""
    lines = []
    for key, rows in statistics.groupby(["benchmark", "model", "label", "budget", "law"], sort=False):
        benchmark, model, label, budget, law = key  # type: ignore[misc]
        parameters = (
            f"{row['parameter']} {row['value']:.3g}{brackets(row['value_low'], row['value_high'], '.3g', ANY)}"
            for row in rows.to_dict("records")
        )
        errors = {"MSE": rows["mse"].iloc[0], "MSE beyond": rows["mse_beyond"].iloc[0]}
        lines.append(
            {
                **{"Benchmark": benchmark, "Model": model, "Method": label, "Fitted up to k": str(budget), "Law": law},
                "Parameters": ", ".join(parameters),
                **{name: "–" if pd.isna(value) else f"{1e4 * value:.2f}" for name, value in errors.items()},
            }
        )
    table = pd.DataFrame(lines)
    one = [name for name in ("Benchmark", "Model") if table[name].nunique() == 1]
    confidence = f"{100 * layout.confidence:g} %"
    notes = [
        "Shifted power law: exp(−a (k + c)^−b); power law: c = 0; exponential law: 1 − a exp(−b k). Beta-binomial: "
        "solve rates from Beta(a, b); two: from Beta(a1, b1) with weight w, else from Beta(a2, b2), the harder first.",
        "MSE (times 10⁴) of pass@k over the k that a fit saw, and over those beyond. A value is of the fit to all "
        f"seeds together; in brackets: {confidence} intervals of Student's t over fits of each seed.",
    ]
    notes += [f"On {benchmark}." for benchmark in statistics["benchmark"].unique()] if "Benchmark" in one else []
    return Rendered.of(layout, table.drop(columns=one), notes)


TABLE = TableKind(
    config=Config,
    layout=OfLaws,
    expand=_scored.expand,
    statistics=statistics,
    reads=("scores",),
    render=render,
)

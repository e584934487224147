"""How far RL moved the weights, and in how many directions (FADE, Table 9 and the table in Figure 8)."""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.claims.part_claims import OfParts
from rlvr.config.layouts import CellsLayout
from rlvr.config.published import PublishedTable
from rlvr.config.schema.paper import Paper
from rlvr.items.layout import with_cells
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.tables import _over_seeds
from rlvr.papers.fade.tables._over_seeds import Column, RunsKind, RunsTable
from rlvr.statistics.run_rows import RunRows
from rlvr.statistics.shown import records

EARLY, LATE = "a third of training", "end of training"
COLUMNS = {
    "weights_l2_relative": Column("‖ΔW‖ / ‖W‖ (%)", 100, 2),
    "head_share": Column("head, share of ‖ΔW‖² (%)", 100, 1),
    "s1_over_s2": Column("s₁ / s₂", 1, 2),
    "rank_1_share": Column("rank-1 share (%)", 100, 1),
    "srank": Column("srank", 1, 1),
    "layer_share": Column("a layer, share of ‖ΔW‖² (%)", 100, 2),
    "rank_1_share_inner": Column("rank-1 share, layers (%)", 100, 1),
}
PUBLISHED = {
    "OH_L2_pct": "head_share",
    "s1_over_s2": "s1_over_s2",
    "rank1_pct": "rank_1_share",
    "inner_pct": "layer_share",
}
PARTS = (EARLY, LATE)


class Config(RunsTable):
    reference: str | None = None  # the published table, a file of the paper's folder reference/


def measures(config: Config) -> tuple[str, ...]:
    """The measures of its claims."""
    return tuple(COLUMNS)


def check_published(config: Config, file: PublishedTable, paper: Paper, place: str) -> None:
    """Raises ConfigError for a model that the published table lacks."""
    for model in config.models:
        name = paper.published_as.get(model, model)
        if name is not None:
            file.check_model(name, f"{place}.models (or published_as.{model})")


def numbers(layout: CellsLayout, weights: RunRows) -> pd.DataFrame:
    """One row per model, method, part of training and measure."""

    def value(name: str, early: bool, run: str) -> float | None:
        rows = weights[run]["weights"]
        steps = [row["step"] for row in rows]
        if early and len(rows) == 1:
            return None
        wanted = min(steps, key=lambda step: abs(step - steps[-1] / 3)) if early else steps[-1]
        return next(row[name] for row in rows if row["step"] == wanted)

    kept = any(len(weights[run]["weights"]) > 1 for cell in layout.cells for run in cell.policies)
    parts = PARTS if kept else (LATE,)
    values = {part: {name: partial(value, name, part == EARLY) for name in COLUMNS} for part in parts}
    return pd.DataFrame(_over_seeds.rows_of(layout, values))


def statistics(
    layout: CellsLayout, weights: RunRows, weights_summary: dict[str, Any], reference: Path | None
) -> pd.DataFrame:
    """The numbers, with `published` as printed, in the table's unit."""
    rows = records(numbers(layout, weights))
    values = _published(reference) if reference else {}
    names = {cell.arm: cell.published for cell in layout.cells}
    for row in rows:
        row["published"] = values.get((str(names[row["arm"]]), row["part"], row["measure"]))
    return _over_seeds.with_heads(rows, layout, weights_summary)


def _published(reference: Path) -> dict[tuple[str, str, str], str]:
    """By method, part and measure: the table's first and last step of each method. Ranges have no step and are late."""
    found = {}
    table = pd.read_csv(reference, dtype={"value": str})
    for row in table[table["k"].isna()].to_dict("records"):
        found[row["method"], LATE, PUBLISHED[row["benchmark"]]] = row["value"].replace("-", "–")
    for method, rows in table.dropna(subset="k").groupby("method"):
        steps = sorted(rows["k"].unique(), key=lambda step: int(str(step).removesuffix("k")))
        for part, step in ((EARLY, steps[0]), (LATE, steps[-1])):
            for row in rows[rows["k"] == step].to_dict("records"):
                found[str(method), part, PUBLISHED[row["benchmark"]]] = row["value"]
    return found


def render(layout: CellsLayout, statistics: pd.DataFrame) -> Rendered:
    """The table."""
    notes = [
        "ΔW: the trained minus the base policy's weights. Shares are of squared norms, so that head, layers, norms and "
        "embedding add up to all; the paper does not say whether its shares are.",
        "s₁, s₂: the largest singular values of the output head's ΔW. Rank-1 share: s₁² / ‖ΔW‖² of the head, and its "
        "mean over the matrices of all layers. srank: the least k whose k largest singular values sum to 99 % of all "
        "(Kumar et al. 2020).",
    ]
    return _over_seeds.rendered(layout, statistics, COLUMNS, notes + _over_seeds.of_heads(statistics))


CLAIMS = OfParts(
    layout=CellsLayout, lay_out=with_cells, statistics=numbers, measures=measures, rows="weights", parts=PARTS
)
TABLE = RunsKind(
    config=Config,
    statistics=statistics,
    reads=("weights", "weights_summary", "reference"),
    claims=CLAIMS.kind(),
    render=render,
    check_published=check_published,
)

"""Alignment of the directions of change across a run's steps with those of its end (FADE, Table 12)."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.config.layouts import CellsLayout
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.tables import _over_seeds
from rlvr.papers.fade.tables._over_seeds import Column, RunsKind
from rlvr.statistics.run_rows import RunRows

COLUMNS = {
    "align_head": Column("output head"),
    "align_early": Column("early layers"),
    "align_middle": Column("middle layers"),
    "align_late": Column("late layers"),
    "weights_l2_relative": Column("‖ΔW‖ / ‖W‖ (%)", 100),
}


def statistics(layout: CellsLayout, weights: RunRows, weights_summary: dict[str, Any]) -> pd.DataFrame:
    """One row per model, method, kept step and measure."""

    def value(name: str, step: int, run: str) -> float | None:
        return next((row[name] for row in weights[run]["weights"] if row["step"] == step), None)

    steps = sorted({row["step"] for cell in layout.cells for run in cell.policies for row in weights[run]["weights"]})
    parts = {f"step {step}": {name: partial(value, name, step) for name in COLUMNS} for step in steps}
    return _over_seeds.with_heads(_over_seeds.rows_of(layout, parts), layout, weights_summary)


def render(layout: CellsLayout, statistics: pd.DataFrame) -> Rendered:
    """The table."""
    notes = [
        "|cos| between the leading left singular vectors of ΔW at a step and at the end: of the output head, and means "
        "over the matrices of the layers in thirds. Two random directions in n dimensions have about 0.8 / √n.",
    ]
    return _over_seeds.rendered(layout, statistics, COLUMNS, notes + _over_seeds.of_heads(statistics))


TABLE = RunsKind(statistics=statistics, reads=("weights", "weights_summary"), render=render)

"""Alignment of the directions of change across a run's steps with those of its end (FADE, Table 12)."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.config.measures import WEIGHTS
from rlvr.statistics.run_rows import Runs
from rlvr.tables import _over_seeds
from rlvr.tables._over_seeds import Column, RunsTable
from rlvr.tables._rendered import Rendered

COLUMNS = {
    "align_head": Column("output head"),
    "align_early": Column("early layers"),
    "align_middle": Column("middle layers"),
    "align_late": Column("late layers"),
    "weights_l2_relative": Column("‖ΔW‖ / ‖W‖ (%)", 100),
}


class Config(RunsTable):
    pass


expand, lay_out = _over_seeds.expand, _over_seeds.lay_out


def statistics(layout: dict[str, Any], weights: Runs, changes: dict[str, Any]) -> pd.DataFrame:
    """One row per model, method, kept step and measure."""

    def value(name: str, step: int, run: str) -> float | None:
        return next((row[name] for row in weights[run][WEIGHTS] if row["step"] == step), None)

    steps = sorted(
        {row["step"] for cell in layout["cells"] for run in cell["policies"] for row in weights[run][WEIGHTS]}
    )
    parts = {f"step {step}": {name: partial(value, name, step) for name in COLUMNS} for step in steps}
    return _over_seeds.with_heads(_over_seeds.rows_of(layout, parts), layout, changes)


def render(layout: dict[str, Any], statistics: pd.DataFrame) -> Rendered:
    """The table."""
    notes = [
        "|cos| between the leading left singular vectors of ΔW at a step and at the end: of the output head, and means "
        "over the matrices of the layers in thirds. Two random directions in n dimensions have about 0.8 / √n.",
    ]
    return _over_seeds.rendered(layout, statistics, COLUMNS, notes + _over_seeds.of_heads(statistics))

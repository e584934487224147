"""The tokens whose logits the head's main direction of change lowers (FADE, App. 15.1)."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.config.layouts import CellsLayout
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.tables import _over_seeds
from rlvr.papers.fade.tables._over_seeds import Column, RunsKind

COLUMNS = {
    "negative_share": Column("tokens lowered (%)", 100, 1),
    "half_energy_share": Column("tokens with half the energy (%)", 100, 1),
}


def statistics(layout: CellsLayout, weights_summary: dict[str, Any]) -> pd.DataFrame:
    """One row per model, method and measure; `lowered` are the most lowered tokens of the first seed."""

    def value(name: str, run: str) -> float:
        return weights_summary[run]["tokens"][name]

    rows = _over_seeds.rows_of(layout, {"": {name: partial(value, name) for name in COLUMNS}})
    first = {cell.arm: weights_summary[cell.policies[0]]["tokens"]["lowered"] for cell in layout.cells}
    rows = [{**row, "part": "end", "lowered": " ".join(first[row["arm"]])} for row in rows]
    return _over_seeds.with_heads(rows, layout, weights_summary)


def render(layout: CellsLayout, statistics: pd.DataFrame) -> Rendered:
    """The table."""
    notes = [
        "u₁: the first left singular vector of the output head's ΔW, one number per token; its sign is chosen so that "
        "most tokens are lowered. The share of tokens with half the energy is 50 % if all change alike.",
    ]
    table = _over_seeds.rendered(layout, statistics, COLUMNS, notes + _over_seeds.of_heads(statistics))
    lowered = statistics.drop_duplicates(["model", "arm"])["lowered"].tolist()
    return Rendered(table.title, table.scale, table.frame.assign(**{"most lowered, first seed": lowered}), table.notes)


TABLE = RunsKind(statistics=statistics, reads=("weights_summary",), render=render)

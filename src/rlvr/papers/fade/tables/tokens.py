"""The tokens whose logits the head's main direction of change lowers (FADE, App. 15.1)."""

from functools import partial
from typing import Any

import pandas as pd

from rlvr.claims.part_claims import OfParts
from rlvr.config.layouts import CellsLayout
from rlvr.items.layout import with_cells
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.tables import _over_seeds
from rlvr.papers.fade.tables._over_seeds import Column, RunsKind, RunsTable
from rlvr.statistics.run_rows import RunRows
from rlvr.statistics.shown import records

END = "end"
COLUMNS = {
    "negative_share": Column("tokens lowered (%)", 100, 1),
    "half_energy_share": Column("tokens with half the energy (%)", 100, 1),
}


def measures(config: RunsTable) -> tuple[str, ...]:
    """The measures of its claims."""
    return tuple(COLUMNS)


def numbers(layout: CellsLayout, weights: RunRows) -> pd.DataFrame:
    """One row per model, method and measure, at the end of training."""

    def value(name: str, run: str) -> float | None:
        return weights[run]["weights"][-1][name]

    return pd.DataFrame(_over_seeds.rows_of(layout, {END: {name: partial(value, name) for name in COLUMNS}}))


def statistics(layout: CellsLayout, weights: RunRows, weights_summary: dict[str, Any]) -> pd.DataFrame:
    """The numbers; `lowered` are the most lowered tokens of the first seed."""
    first = {cell.arm: weights_summary[cell.policies[0]]["tokens"]["lowered"] for cell in layout.cells}
    frame = numbers(layout, weights)
    frame["lowered"] = [" ".join(first[arm]) for arm in frame["arm"]]
    return _over_seeds.with_heads(records(frame), layout, weights_summary)


def render(layout: CellsLayout, statistics: pd.DataFrame) -> Rendered:
    """The table."""
    notes = [
        "u₁: the first left singular vector of the output head's ΔW, one number per token; its sign is chosen so that "
        "most tokens are lowered. The share of tokens with half the energy is 50 % if all change alike.",
    ]
    table = _over_seeds.rendered(layout, statistics, COLUMNS, notes + _over_seeds.of_heads(statistics))
    lowered = statistics.drop_duplicates(["model", "arm"])["lowered"].tolist()
    return Rendered(table.title, table.scale, table.frame.assign(**{"most lowered, first seed": lowered}), table.notes)


CLAIMS = OfParts(
    layout=CellsLayout, lay_out=with_cells, statistics=numbers, measures=measures, rows="weights", parts=(END,)
)
TABLE = RunsKind(statistics=statistics, reads=("weights", "weights_summary"), claims=CLAIMS.kind(), render=render)

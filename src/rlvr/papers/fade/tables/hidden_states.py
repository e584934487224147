"""Hidden states of correct and failed responses beyond their common direction (FADE, Tables 10 and 11)."""

from functools import partial
from typing import Any, Literal

import pandas as pd

from rlvr.claims.part_claims import OfParts
from rlvr.config.layouts import CellsLayout
from rlvr.items.layout import filled
from rlvr.items.rendered import Rendered
from rlvr.papers.fade.tables import _over_seeds
from rlvr.papers.fade.tables._over_seeds import Column, RunsKind, RunsTable
from rlvr.statistics.run_rows import RunRows

BEFORE, HALFWAY, END = "base policy", "halfway", "end"
SHOWN = {
    "correlation": {
        "rho_correct": Column("ρ correct", 1, 3),
        "rho_failed": Column("ρ failed", 1, 3),
        "rho_ratio": Column("correct / failed", 1, 2),
    },
    "norms": {
        "norm_correct": Column("‖R_S‖", 1, 4),
        "norm_failed": Column("‖R_F‖", 1, 4),
        "norm_ratio": Column("‖R_F‖ / ‖R_S‖", 1, 3),
        "clt": Column("√(N_S / N_F)", 1, 3),
        "norm_over_clt": Column("ratio of the two", 1, 2),
    },
}
PARTS = (BEFORE, HALFWAY, END)


class Config(RunsTable):
    shows: Literal["correlation", "norms"]
    direction: Literal["hidden", "gradient"] = "hidden"  # what is projected out: of the states, or of the gradient


def measures(config: Config) -> tuple[str, ...]:
    """The measures of its claims."""
    return tuple(SHOWN[config.shows])


class HiddenLayout(CellsLayout):
    shows: str
    direction: str


def statistics(layout: HiddenLayout, hidden: RunRows) -> pd.DataFrame:
    """One row per model, method, part of training and measure."""

    def value(name: str, part: str, run: str) -> float | None:
        rows = hidden[run]["hidden"]
        place = {BEFORE: 0, HALFWAY: 1 if len(rows) > 2 else None, END: len(rows) - 1}[part]
        return None if place is None else _value(rows[place], name, layout.direction)

    halfway = any(len(hidden[run]["hidden"]) > 2 for cell in layout.cells for run in cell.policies)
    names = list(SHOWN[layout.shows])
    parts = [BEFORE, *([HALFWAY] if halfway else []), END]
    return pd.DataFrame(
        _over_seeds.rows_of(layout, {part: {name: partial(value, name, part) for name in names} for part in parts})
    )


def _value(row: dict[str, Any], name: str, direction: str) -> float | None:
    """A measure of a row with one direction projected out; None where a group has too few tokens."""
    right, wrong = row[f"rho_correct_{direction}"], row[f"rho_failed_{direction}"]
    if name == "rho_ratio":
        return right / wrong if right is not None and wrong else None
    if name == "norm_over_clt":
        ratio = row[f"norm_ratio_{direction}"]
        return ratio / row["clt"] if ratio is not None and row["clt"] else None
    return row[name] if name in row else row[f"{name}_{direction}"]


def render(layout: HiddenLayout, statistics: pd.DataFrame) -> Rendered:
    """The table."""
    what = "of all hidden states" if layout.direction == "hidden" else "of the batch's gradient at the head"
    notes = [
        "Tokens of responses to 64 training prompts (fewer, if these have 131,072 tokens), last hidden states h; their "
        "component along the first right "
        f"singular vector {what} is projected out (h⊥).",
        "ρ: mean cosine of two tokens' h⊥."
        if layout.shows == "correlation"
        else "R: mean of v ⊗ h⊥ over a group's tokens, v = e_y − π. If both groups had the same covariance, "
        "‖R_F‖ / ‖R_S‖ would be √(N_S / N_F), N being their tokens.",
    ]
    return _over_seeds.rendered(layout, statistics, SHOWN[layout.shows], notes)


CLAIMS = OfParts(
    layout=HiddenLayout,
    lay_out=partial(filled, HiddenLayout),
    statistics=statistics,
    measures=measures,
    rows="hidden",
    parts=PARTS,
)
TABLE = RunsKind(
    config=Config,
    layout=HiddenLayout,
    statistics=statistics,
    reads=("hidden",),
    claims=CLAIMS.kind(),
    render=render,
)

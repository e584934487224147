"""Hidden states of correct and failed responses beyond their common direction (FADE, Tables 10 and 11)."""

from functools import partial
from typing import Any, Literal

import pandas as pd

from rlvr.config.plan import Item, Plan
from rlvr.statistics.run_rows import Runs
from rlvr.tables import _over_seeds
from rlvr.tables._over_seeds import Column, RunsTable
from rlvr.tables._rendered import Rendered

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
    },
}


class Config(RunsTable):
    shows: Literal["correlation", "norms"]
    direction: Literal["hidden", "gradient"] = "hidden"  # what is projected out: of the states, or of the gradient


expand = _over_seeds.expand


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    config: Any = item.content
    return {**_over_seeds.lay_out(item, plan, paper), "shows": config.shows, "direction": config.direction}


def statistics(layout: dict[str, Any], hidden: Runs) -> pd.DataFrame:
    """One row per model, method, part of training (base policy, between, end) and measure."""

    def value(name: str, part: str, run: str) -> float | None:
        rows = hidden[run]["hidden"]
        place = {"base policy": 0, "halfway": 1 if len(rows) > 2 else None, "end": len(rows) - 1}[part]
        if place is None:
            return None
        row = rows[place]
        if name == "rho_ratio":
            right, wrong = (row[f"rho_{group}_{layout['direction']}"] for group in ("correct", "failed"))
            return right / wrong if right is not None and wrong else None
        return row[name] if name in row else row[f"{name}_{layout['direction']}"]

    halfway = any(len(hidden[run]["hidden"]) > 2 for cell in layout["cells"] for run in cell["policies"])
    names = SHOWN[layout["shows"]]
    parts = ["base policy", *(["halfway"] if halfway else []), "end"]
    return pd.DataFrame(
        _over_seeds.rows_of(layout, {part: {name: partial(value, name, part) for name in names} for part in parts})
    )


def render(layout: dict[str, Any], statistics: pd.DataFrame) -> Rendered:
    """The table."""
    what = "of all hidden states" if layout["direction"] == "hidden" else "of the batch's gradient at the head"
    notes = [
        "Tokens of responses to 64 training prompts, last hidden states h; their component along the first right "
        f"singular vector {what} is projected out (h⊥).",
        "ρ: mean cosine of two tokens' h⊥."
        if layout["shows"] == "correlation"
        else "R: mean of v ⊗ h⊥ over a group's tokens, v = e_y − π. If both groups had the same covariance, "
        "‖R_F‖ / ‖R_S‖ would be √(N_S / N_F), N being their tokens.",
    ]
    return _over_seeds.rendered(layout, statistics, SHOWN[layout["shows"]], notes)

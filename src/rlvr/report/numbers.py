"""The statistics behind tables and figures, as tables to sort and filter: each value leads to its runs."""

import re
from typing import Any

import pandas as pd

from rlvr.report.browse import CHOICE, NUMBER, TableCell, popover, table
from rlvr.report.runs import RunPages
from rlvr.statistics.shown import records

MOST = 1500  # rows of a table; of longer statistics it has the methods
# Columns of statistics and their names here, in the order shown; a column that is empty or missing is left out.
NAMES = {
    **{"label": ("Method", CHOICE), "stand_in": ("Model", CHOICE), "data": ("Data", CHOICE)},
    **{"benchmark": ("In place of", CHOICE), "measure": ("Measure", CHOICE), "score": ("Score", CHOICE)},
    **{"form": ("Form", CHOICE), "side": ("Side", CHOICE), "at": ("At", CHOICE)},
    **{"learning_rate": ("Learning rate", NUMBER), "step": ("Step", NUMBER), "layer": ("Layer", NUMBER)},
    **{"p": ("Solve rate", NUMBER), "k": ("k", NUMBER), "value": ("Value", NUMBER)},
    **{"difference": ("Difference", NUMBER), "published": ("Published", NUMBER)},
    **{"seeds": ("Seeds", NUMBER), "problems": ("Problems", NUMBER)},
}
METHODS = ["label", "stand_in", "policies"]


class Popovers:
    """The runs behind the values of a page: a popover per list of policies, however many tables lead to it.

    A page has them after its tables: what is inside a folded part of a page cannot open.
    """

    def __init__(self, runs: RunPages):
        self.runs, self.names, self.html = runs, dict[str, str](), list[str]()

    def of(self, policies: str, label: str) -> str:
        """The name of the popover of some policies, or "" without any."""
        if policies and policies not in self.names:
            self.names[policies] = f"runs-{len(self.names)}"
            facts = self.runs.origin(policies.split()) or {"Runs": ", ".join(policies.split())}
            self.html.append(popover(self.names[policies], label, facts))
        return self.names.get(policies, "")


def numbers(frame: pd.DataFrame, caption: str, popovers: Popovers, most: int | None = None) -> str:
    """A table of statistics; one with more rows than `most` has the methods."""
    if len(frame) > (most or MOST):
        caption = f"{caption}: the methods of {len(frame)} rows"
        frame = frame[[column for column in METHODS if column in frame]].drop_duplicates()
    columns = {key: named for key, named in NAMES.items() if key in frame and frame[key].notna().any()}
    behind = frame["policies"].fillna("") if "policies" in frame else pd.Series("", frame.index)
    labels = frame.get("label", behind)
    origins = [popovers.of(text, str(label)) for text, label in zip(behind, labels, strict=True)]
    pressed = "value" if "value" in columns else "label"
    rows = [
        ("", [_cell(line, key, origin if key == pressed else "") for key in columns])
        for line, origin in zip(records(frame), origins, strict=True)
    ]
    return table(caption, dict(columns.values()), rows)


def _cell(row: dict[str, Any], key: str, origin: str) -> TableCell:
    value = row[key]
    if pd.isna(value):
        return TableCell("")
    if not isinstance(value, int | float):
        return TableCell(str(value), origin=origin)
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    interval = f" [{low:.4g}, {high:.4g}]" if pd.notna(low) and pd.notna(high) else ""
    return TableCell(re.sub("(?<!e)-", "−", f"{value:.4g}{interval}"), value, origin)

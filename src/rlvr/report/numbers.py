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


def numbers(frame: pd.DataFrame, caption: str, runs: RunPages, name: str) -> str:
    """A table of statistics; `name` begins the names of its popovers, which are a page's own."""
    if len(frame) > MOST:
        caption = f"{caption}: the methods of {len(frame)} rows"
        frame = frame[[column for column in METHODS if column in frame]].drop_duplicates()
    columns = {key: named for key, named in NAMES.items() if key in frame and frame[key].notna().any()}
    behind = frame["policies"].fillna("") if "policies" in frame else pd.Series("", frame.index)
    origins = {text: f"{name}-{i}" for i, text in enumerate(dict.fromkeys(behind)) if text}
    pressed = "value" if "value" in columns else "label"
    lines = zip(records(frame), behind, strict=True)
    rows = [
        ("", [_cell(line, key, origins.get(text, "") if key == pressed else "") for key in columns])
        for line, text in lines
    ]
    labels = frame.get("label", behind)
    popovers = []
    for text, popover_name in origins.items():
        facts = runs.origin(text.split()) or {"RunPages": ", ".join(text.split())}
        popovers.append(popover(popover_name, str(labels[behind == text].iloc[0]), facts))
    return "\n".join([table(caption, dict(columns.values()), rows), *popovers])


def _cell(row: dict[str, Any], key: str, origin: str) -> TableCell:
    value = row[key]
    if pd.isna(value):
        return TableCell("")
    if not isinstance(value, int | float):
        return TableCell(str(value), origin=origin)
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    interval = f" [{low:.4g}, {high:.4g}]" if pd.notna(low) and pd.notna(high) else ""
    return TableCell(re.sub("(?<!e)-", "−", f"{value:.4g}{interval}"), value, origin)

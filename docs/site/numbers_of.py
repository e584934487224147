"""The statistics behind a snapshot's tables and figures, as tables to sort and filter."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
from browse import CHOICE, NUMBER, WIDE, Cell, popover, raw, table
from runs import Runs

from rlvr.files import read_json

LEAD = "Press a value to see the runs behind it. Brackets are 95 % intervals.\n"
ALONE = WIDE.replace("hide-toc", "orphan: true\nhide-toc")  # reached from its table, not from the navigation
MOST = 1500  # rows of a page; longer statistics can be downloaded
# Columns of statistics and their names here, in the order shown; a column that is empty or missing is left out.
NAMES = {
    **{"label": ("Method", CHOICE), "stand_in": ("Model", CHOICE), "data": ("Data", CHOICE)},
    **{"benchmark": ("In place of", CHOICE), "measure": ("Measure", CHOICE), "score": ("Score", CHOICE)},
    **{
        "form": ("Form", CHOICE),
        "side": ("Side", CHOICE),
        "at": ("At", CHOICE),
        "learning_rate": ("Learning rate", NUMBER),
    },
    **{"step": ("Step", NUMBER), "layer": ("Layer", NUMBER), "p": ("Solve rate", NUMBER), "k": ("k", NUMBER)},
    **{"value": ("Value", NUMBER), "difference": ("Difference", NUMBER), "published": ("Published", NUMBER)},
    **{"seeds": ("Seeds", NUMBER), "problems": ("Problems", NUMBER)},
}


def write(snapshot: Path, target: Path, runs: Runs) -> None:
    """A page per table or figure whose statistics the snapshot keeps, linked from the table's own page."""
    for spec in sorted(snapshot.glob("*/.data/*.json")):
        content = read_json(spec)
        paper, item = spec.parents[1].name, spec.stem
        title = content["specification"].get("layout", content["specification"])["title"]
        parts = [_part(next(spec.parent.glob(f"{name}.csv*")), runs, name) for name in content["statistics"]]
        page = target / paper / "numbers" / f"{item}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("\n".join([ALONE, f"# {title}: every number\n", LEAD, *parts]))
        table_page = target / paper / f"{item}.md"
        if table_page.is_file():
            table_page.write_text(table_page.read_text() + f"\n[Every number, with its runs](numbers/{item}.md)\n")


def _part(path: Path, runs: Runs, name: str) -> str:
    frame = pd.read_csv(path)
    if len(frame) > MOST:
        return f"{len(frame)} rows: `{path.name}`.\n"
    columns = {key: named for key, named in NAMES.items() if key in frame and frame[key].notna().any()}
    behind = frame["policies"].fillna("") if "policies" in frame else pd.Series("", frame.index)
    origins = {text: f"{name}-{i}" for i, text in enumerate(dict.fromkeys(behind)) if text}
    rows = [
        ("", [_cell(row, key, origins.get(text, "")) for key in columns])
        for (_, row), text in zip(frame.iterrows(), behind, strict=True)
    ]
    popovers = [_popover(origins[text], frame[behind == text].iloc[0], text, runs) for text in origins]
    return raw(table(name.replace("_", " "), dict(columns.values()), rows), *popovers)


def _popover(name: str, row: pd.Series, policies: str, runs: Runs) -> str:
    known = runs.origin(policies.split(), "../../runs.html")
    return popover(name, str(row.get("label", "")), known or {"Runs": ", ".join(policies.split())})


def _cell(row: pd.Series, key: str, origin: str) -> Cell:
    value: Any = row[key]
    if pd.isna(value):
        return Cell("")
    if not isinstance(value, int | float):
        return Cell(str(value))
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    interval = f" [{low:.4g}, {high:.4g}]" if pd.notna(low) and pd.notna(high) else ""
    text = re.sub("(?<!e)-", "−", f"{value:.4g}{interval}")
    return Cell(text, value, origin if key == "value" else "")

"""The theory's statements on a paper: a row each, with its verdict."""

from typing import Any

import pandas as pd

from rlvr.report.browse import CHOICE, TEXT, TableCell, table
from rlvr.statistics.shown import records

COLUMNS = {"Place": TEXT, "Statement": TEXT, "Verdict": CHOICE, "Condition, counterexample or note": TEXT}


def of(paper: str, ledger: pd.DataFrame) -> dict[str, Any]:
    """The table of a paper's statements, their number, and how many have each verdict; empty without any."""
    own = ledger[ledger["paper"] == paper]
    if own.empty:
        return {}
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in own["verdict"].value_counts().items())
    rows = [("", _cells(row)) for row in records(own)]
    return {"number": len(own), "verdicts": verdicts, "table": table(f"Ledger of {paper}", COLUMNS, rows)}


def _cells(row: dict[str, Any]) -> list[TableCell]:
    checked = f"{row['checked_by']}; largest deviation {row['deviation']}"
    reading = row["holds_in_this_reading"]
    return [
        *(TableCell(row["place"]), TableCell(row["statement"], small=checked), TableCell(row["verdict"])),
        TableCell(row["condition_or_counterexample"], small=f"It holds in this reading: {reading}." if reading else ""),
    ]

"""Stage: tables. Runs that collapsed, an arm a row."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr.tables.render import Rendered
from rlvr.tables.scored import scale_line


def render(layout: dict[str, Any], statistics: pd.DataFrame) -> Rendered:
    """Counts, their share with its interval, and p against the compared arm."""
    lines, shown = [], ""  # each model is named once
    for row in statistics.to_dict("records"):
        model = row["model"] + (f" → {row['stand_in']}" if row["stand_in"] != row["model"] else "")
        share = f"{100 * row['value']:.0f} [{100 * row['value_low']:.0f}, {100 * row['value_high']:.0f}]"
        cells = ["" if model == shown else model, row["label"], str(row["runs"]), str(row["collapsed"]), share]
        lines.append([*cells, *([_p(row["p"])] if layout["compare_with"] else [])])
        shown = model
    columns = ["Model", "Method", "runs", "collapsed", "share (%)"]
    columns += [f"p, against {layout['compare_label']}"] if layout["compare_with"] else []
    return Rendered(layout["title"], scale_line(layout), pd.DataFrame(lines, columns=columns), _notes(layout))


def _p(value: float) -> str:
    return "" if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _notes(layout: dict[str, Any]) -> list[str]:
    rule, confidence = layout["collapse"], f"{100 * layout['statistics']['confidence']:g} %"
    notes = [
        "Collapsed: a run whose mean share of prompts without a correct response over the last "
        f"{100 * rule['window']:g} % of its steps is above {rule['factor']:g} times the smallest such mean before, "
        f"and above it by at least {rule['share']:g}.",
        f"In brackets: {confidence} Clopper-Pearson interval of the share of runs that collapse.",
    ]
    if layout["compare_with"]:
        notes.append("p: Fisher's exact test of the two counts, two-sided, without a correction for several methods.")
    return [*notes, *([layout["note"]] if layout["note"] else [])]


def main(
    layout: Annotated[str, typer.Option(help="Title, rule and notes, as JSON.")],
    statistics: Annotated[Path, typer.Argument(help="CSV of rlvr.statistics.curves.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .tex.")],
) -> None:
    """Set a table of collapsed runs."""
    render(json.loads(layout), pd.read_csv(statistics)).write(out)


if __name__ == "__main__":
    typer.run(main)

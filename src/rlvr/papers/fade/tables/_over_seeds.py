"""Tables of measures of runs: one row per model, method and part of training, one column per measure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any

import pandas as pd

from rlvr.config.layouts import CellsLayout, Layout
from rlvr.config.measures import ANY, PERCENTAGE, SHARE, possible
from rlvr.config.plan import Item
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig
from rlvr.items import TABLES, TableKind
from rlvr.items.rendered import Rendered
from rlvr.items.rows import mean_of_seeds
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import by_seed, cell_columns
from rlvr.statistics.shown import WHY, WITHHELD, brackets, over
from rlvr.tables._methods import MethodsTable

Value = Callable[[str], float | None]  # of a run
WITHOUT_VALUE = {"value": math.nan, "value_low": math.nan, "value_high": math.nan, "seeds": 0}


class RunsTable(MethodsTable):
    """Rows of trained arms."""

    repeats: Positive | None = None  # the number of seeds; default: the paper's seeds


@dataclass(frozen=True)
class Column:
    """A measure in a table: its heading, the factor to its unit, and the digits after the point."""

    heading: str
    factor: float = 1.0
    digits: int = 2


def expand(name: str, config: Any, scope: Scope) -> Item:
    models, rows = scope.models(config.models), scope.rows(config, trained=True)
    return Item(TABLES, name, config, scope.trained(config, models, rows))


@dataclass(frozen=True, kw_only=True)
class RunsKind(TableKind):
    """A kind of table of measures of runs."""

    config: type[ItemConfig] = RunsTable
    expand: Callable[[str, Any, Scope], Item] = expand
    layout: type[Layout] | UnionType = CellsLayout


def rows_of(layout: CellsLayout, parts: Mapping[str, Mapping[str, Value]]) -> list[dict[str, Any]]:
    """One row per cell, part of training and measure, with Student's t over seeds, of the seeds that have a value.

    `by_seed` holds the value of each run.
    """
    rows, confidence = [], layout.confidence
    for cell in layout.cells:
        for part, measures in parts.items():
            for measure, value in measures.items():
                found = [math.nan if (number := value(run)) is None else number for run in cell.policies]
                known = [number for number in found if not math.isnan(number)]
                row = {**cell_columns(cell), "part": part, "measure": measure}
                row |= mean_of_seeds(known, confidence, possible(measure)) if known else WITHOUT_VALUE
                rows.append({**row, "by_seed": by_seed(found)})
    return rows


def with_heads(rows: list[dict[str, Any]], layout: CellsLayout, changes: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with the kind of output head of each cell's model: its own, or tied to the embedding."""
    heads = {(cell.model, cell.arm): changes.get(cell.policies[0], {}).get("head", "") for cell in layout.cells}
    return pd.DataFrame([{**row, "head": heads[row["model"], row["arm"]]} for row in rows])


def of_heads(frame: pd.DataFrame) -> list[str]:
    """The note that says which models have a tied output head."""
    heads = frame.fillna({"head": ""}).groupby("stand_in", sort=False)["head"].first()
    return [f"Output head: {', '.join(f'{head} ({model})' for model, head in heads.items())}."] if any(heads) else []


def rendered(layout: CellsLayout, frame: pd.DataFrame, columns: Mapping[str, Column], notes: list[str]) -> Rendered:
    """The table; a published value follows ours where the statistics have one."""
    lines: list[dict[str, str]] = []
    shown: tuple[str, str] | None = None
    for key, rows in frame.groupby(["model", "label", "part"], sort=False):
        model, label, part = map(str, key)  # type: ignore[arg-type]
        stand_in = rows["stand_in"].iloc[0]
        name = model + (f" → {stand_in}" if stand_in != model else "")
        line = {"Model": "" if shown and shown[0] == model else name}
        line |= {"Method": "" if shown == (model, label) else label, "": part}
        shown = (model, label)
        by_measure = {row["measure"]: row for _, row in rows.iterrows()}
        for measure, column in columns.items():
            line[column.heading] = _cell(by_measure[measure], column) if measure in by_measure else ""
        lines.append(line)
    table = pd.DataFrame(lines)
    if table[""].nunique() == 1:
        table = table.drop(columns="")
    confidence = f"{100 * layout.confidence:g} %"
    seeds = sorted(set(frame["seeds"]) - {0})
    notes = [*notes, f"In brackets: {confidence} intervals of Student's t over {_range(seeds)} training seeds."]
    if any(WITHHELD in text for text in table.to_numpy().flat):
        notes = [*notes, WHY.format(over(max(seeds)))]
    return Rendered.of(layout, table, notes)


def _cell(row: pd.Series, column: Column) -> str:
    if pd.isna(row["value"]):
        return "–"
    value, low, high = (column.factor * row[name] for name in ("value", "value_low", "value_high"))
    form = f".{column.digits}f"
    of_whole = possible(row["measure"]) == SHARE and column.factor == PERCENTAGE[1]
    text = f"{value:{form}}{brackets(low, high, form, PERCENTAGE if of_whole else ANY)}"
    published = row.get("published")
    if published is None or pd.isna(published):
        return text
    return f"{text} (published {published if isinstance(published, str) else f'{published:g}'})"


def _range(seeds: list[int]) -> str:
    if not seeds:
        return "no"
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"

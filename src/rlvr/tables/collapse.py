"""Collapsed runs per arm, with an exact interval and an exact test (A-GRAE, Figure 9)."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.claims import collapse_claims
from rlvr.claims.collapse_claims import PUBLISHED
from rlvr.config.layouts import CellsLayout
from rlvr.config.plan import Item, Plan
from rlvr.config.published import PublishedTable
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Collapse
from rlvr.items import TABLES, TableKind
from rlvr.items.layout import collapse_rule, filled
from rlvr.items.rendered import Rendered
from rlvr.items.scope import Scope
from rlvr.statistics.collapse import of_run
from rlvr.statistics.references import Reference
from rlvr.statistics.run_rows import RunRows, cell_columns
from rlvr.tables._methods import MethodsTable, check_baseline


class Config(MethodsTable):
    repeats: Positive | None = None  # the number of seeds; default: the paper's seeds
    reference: str | None = None  # the published shares, a file of the paper's folder reference/


def expand(name: str, config: Config, scope: Scope) -> Item:
    models, rows = scope.models(config.models), scope.rows(config, trained=True)
    check_baseline(config, rows, scope)
    return Item(TABLES, name, config, scope.trained(config, models, rows))


class CollapseLayout(CellsLayout):
    compare_with: str | None
    compare_label: str
    collapse: Collapse


def lay_out(item: Item, plan: Plan, paper: str) -> CollapseLayout:
    config: Any = item.content
    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    label, rule = labels.get(config.compare_with, ""), collapse_rule(plan, paper)
    return filled(CollapseLayout, item, plan, paper, compare_label=label, collapse=rule)


def check_published(config: Config, file: PublishedTable, paper: Paper, place: str) -> None:
    """Raises ConfigError for names that the published table lacks."""
    for model in config.models:
        if name := paper.published_name(model):
            file.check_model(name, f"{place}.models (or published_as.{model})")
    file.check_benchmark(PUBLISHED, f"{place}.reference")


def statistics(layout: CollapseLayout, runs: RunRows, reference: Path | None = None) -> pd.DataFrame:
    """One row per model and arm: runs, collapsed runs, their share with a Clopper-Pearson interval, Fisher's exact p.

    p is two-sided and compares the counts of an arm and of the baseline on the same model. `published` is the share
    in the paper.
    """
    from scipy import stats

    published = Reference(pd.read_csv(reference)) if reference else Reference.empty()
    rows, confidence = [], layout.confidence
    for cell in layout.cells:
        verdicts = [of_run(runs, run, layout.collapse) for run in cell.policies]
        collapsed = sum(verdict.collapsed for verdict in verdicts)
        interval = stats.binomtest(collapsed, len(verdicts)).proportion_ci(confidence, method="exact")
        rows.append(
            {
                **cell_columns(cell),
                "measure": "collapse",
                "runs": len(verdicts),
                "seeds": len(verdicts),
                "collapsed": collapsed,
                "value": collapsed / len(verdicts),
                "value_low": interval.low,
                "value_high": interval.high,
                "p": math.nan,
                "published": published.value(cell.published_model, cell.published, PUBLISHED, None)["published"],
            }
        )
    baseline = {row["model"]: row for row in rows if row["arm"] == layout.compare_with}
    for row in rows:
        other = baseline.get(row["model"])
        if other is not None and other is not row:
            counts = [[r["collapsed"], r["runs"] - r["collapsed"]] for r in (row, other)]
            test: Any = stats.fisher_exact(counts)
            row["p"] = float(test.pvalue)
    return pd.DataFrame(rows)


def render(layout: CollapseLayout, statistics: pd.DataFrame) -> Rendered:
    """The table: counts, their share with its interval, and p against the baseline."""
    lines, previous = [], ""  # so that each model appears once
    with_published = "published" in statistics and bool(statistics["published"].notna().any())
    for row in statistics.to_dict("records"):
        model = row["model"] + (f" → {row['stand_in']}" if row["stand_in"] != row["model"] else "")
        share = f"{100 * row['value']:.0f} [{100 * row['value_low']:.0f}, {100 * row['value_high']:.0f}]"
        cells = ["" if model == previous else model, row["label"], str(row["runs"]), str(row["collapsed"]), share]
        p = "" if pd.isna(row["p"]) else "< 0.001" if row["p"] < 0.001 else f"{row['p']:.3f}"
        theirs = f"{100 * row['published']:.0f}" if with_published and not pd.isna(row["published"]) else ""
        lines.append([*cells, *([p] if layout.compare_with else []), *([theirs] if with_published else [])])
        previous = model
    columns = ["Model", "Method", "runs", "collapsed", "share (%)"]
    columns += [f"p, against {layout.compare_label}"] if layout.compare_with else []
    columns += ["published (%)"] if with_published else []
    return Rendered.of(layout, pd.DataFrame(lines, columns=columns), _notes(layout))


def _notes(layout: CollapseLayout) -> list[str]:
    rule, confidence = layout.collapse, f"{100 * layout.confidence:g} %"
    notes = [
        "Collapsed: a run whose mean share of prompts without a correct response over the last "
        f"{100 * rule.window:g} % of its steps is above {rule.factor:g} times the smallest such mean before, "
        f"and above it by at least {rule.share:g}.",
        f"In brackets: {confidence} Clopper-Pearson interval of the share of runs that collapse.",
    ]
    if layout.compare_with:
        notes.append("p: Fisher's exact test of the two counts, two-sided, without a correction for several methods.")
    return notes


TABLE = TableKind(
    config=Config,
    layout=CollapseLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("runs", "reference"),
    claims=collapse_claims.CLAIMS,
    render=render,
    check_published=check_published,
)

"""Unbiased pass@k of methods on benchmarks, with intervals over seeds and problems, next to the published values.

Optional columns are avg@n and maj@n. `matched` names a sweep of the baseline's learning rates and adds a table at equal
pass@1, where each method is compared with the baseline's curve at its own pass@1 (`rlvr.statistics.frontier`), and a
picture of the curve and the methods.
"""

from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import Field

from rlvr.claims import score_claims
from rlvr.config.layouts import ScoresLayout
from rlvr.config.plan import Item
from rlvr.config.published import lookup_key
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig
from rlvr.figures import frontier
from rlvr.items import TableKind
from rlvr.items.rendered import Rendered
from rlvr.items.scope import Scope
from rlvr.statistics.consistency import check_table, in_words, of_uncertainty, pass_at_k_cells
from rlvr.statistics.references import Reference
from rlvr.statistics.scores import Scores
from rlvr.statistics.table_rows import pass_at_k_rows
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable, check_baseline, curve_of

WORDS = _scored.Words(
    headers={"pass": "@{k}", "avg": "avg@{k}", "maj": "maj@{k}"},
    short="pass",
    short_words="pass@{k}",
    about={
        "avg": "avg@n: the mean share of correct samples, which is the unbiased pass@1.",
        "maj": "maj@n: the share of problems whose most frequent answer is correct; a tie counts by its share, and "
        "wrong answers are the same where their text is.",
    },
)


sentences = partial(_scored.sentences, WORDS)


class Config(BenchmarksTable):
    k: list[Positive] = Field(min_length=1)
    seeds: Positive | None = None  # as many of the paper's training seeds; default: all
    hard_levels: bool = False  # only problems of the benchmark's hard levels (config/datasets.yaml)
    measures: list[Literal["avg", "maj"]] = []  # columns beside k: avg@n, maj@n
    matched: str | None = None  # a sweep of the learning rates of compare_with
    reference: str | None = None  # the published table, a file of the paper's folder reference/


class AtEqualPass1(Config):
    """The configuration of the table at equal pass@1; no file contains it."""


def companions(name: str, config: Config, scope: Scope) -> tuple[dict[str, ItemConfig], dict[str, ItemConfig]]:
    """The table at equal pass@1, and the frontier: the smallest against the largest k."""
    if config.matched is None:
        return {}, {}
    rows = scope.rows(config)
    check_baseline(config, rows, scope)
    baseline, sweep = curve_of(config, scope)
    changes = {"title": f"{config.title}, at equal pass@1", "rows": rows, "sweep": None, "every_arm": False}
    matched = AtEqualPass1.model_construct(**{**dict(config), **changes})
    k, knots = scope.largest(config.k), scope.swept(baseline, sweep)
    curves = frontier.Config(
        title=f"Pass@{k[0]} against pass@{k[-1]}: {config.title}",
        kind="frontier",
        by_name=config.by_name,
        models=config.models,
        benchmark=config.benchmark,
        benchmarks=config.benchmarks,
        arms=[*knots, *(row.arm for row in rows if row.arm not in (baseline, *knots))],
        k=[k[0], k[-1]],
        baseline=baseline,
        knots=knots,
        note=frontier.NOTE,
    )
    return {f"{name}_matched": matched}, {f"{name}_frontier": curves}


def expand(name: str, config: Config, scope: Scope) -> Item:
    curve = curve_of(config, scope) if isinstance(config, AtEqualPass1) else None
    return _scored.expand(name, config, scope, curve=curve)


def statistics(layout: ScoresLayout, scores: Scores, reference: Path | None) -> pd.DataFrame:
    return pass_at_k_rows(layout, scores, Reference(published(layout, reference)) if reference else None)


def published(layout: ScoresLayout, reference: Path) -> pd.DataFrame:
    """The published table, with the methods of rows that have a file of their own."""
    papers = reference.parents[2]
    named = [(papers / cell.reference, cell.published) for cell in layout.cells if cell.reference]
    others = [frame[frame["method"] == method] for path, method in named for frame in [pd.read_csv(path)]]
    return pd.concat([pd.read_csv(reference), *others], ignore_index=True)


def render(layout: ScoresLayout, statistics: pd.DataFrame, reference: Path | None) -> Rendered:
    with_width = bool(statistics["published_ci"].notna().any())
    return _scored.render(WORDS, layout, statistics, _consistency(layout, reference, with_width) if reference else [])


def _consistency(layout: ScoresLayout, reference: Path, with_width: bool = False) -> list[str]:
    """Notes on published rows of the table's benchmarks that violate the laws of pass@k and, if asked, of its ±."""
    table = pd.read_csv(reference, dtype=str, keep_default_na=False)
    table = table[table["benchmark"].map(lookup_key).isin([lookup_key(panel.published) for panel in layout.panels])]
    findings = check_table(pass_at_k_cells(table))
    wide = of_uncertainty(findings)
    notes = {
        "rows that no unbiased pass@k at one fixed n can give": in_words(findings[~wide]),
        "± that no range of pass@k has": in_words(findings[wide]) if with_width else [],
    }
    words = "Published {}, rounding allowed for (`rlvr consistency`)"
    return [f"{words.format(what)}: {'. '.join(rows)}." for what, rows in notes.items() if rows]


TABLE = TableKind(
    config=Config,
    layout=ScoresLayout,
    expand=expand,
    statistics=statistics,
    reads=("scores", "reference"),
    claims=score_claims.CLAIMS,
    render=render,
    rendered_from=("statistics", "reference"),
    companions=companions,
    check_published=_scored.check_published,
    sentences=sentences,
    curves=True,
)

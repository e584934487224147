"""The diversity of a policy's correct responses: S_div (PACS, Eq. 13), distinct solutions, entropy of answers."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from rlvr.claims import diversity_claims
from rlvr.config.layers import ConfigError
from rlvr.config.layouts import ScoresLayout
from rlvr.config.measures import POSITIVE, Range
from rlvr.config.plan import Item, Plan
from rlvr.items import TableKind
from rlvr.items.layout import filled
from rlvr.items.scope import Scope
from rlvr.statistics.intervals import SeedsAndKnownProblems
from rlvr.statistics.references import Reference
from rlvr.statistics.scores import Measure, Scores, matrix, units_of
from rlvr.statistics.table_rows import blocks, frames_of, head, holm, numbers, published_of, sizes
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable

PUBLISHED = "{} S_div"  # a benchmark's column in published tables
POSSIBLE: dict[str, Range] = {"s_div": (0.0, 2.0), "distinct_at_m": POSITIVE, "answer_entropy": POSITIVE}
MEASURES = tuple(POSSIBLE)
WORDS = _scored.Words(
    headers={"s_div": "S_div", "distinct_at_m": "distinct @{k}", "answer_entropy": "answer entropy"},
    short="s_div",
    short_words="S_div",
    about={
        "s_div": "S_div: mean cosine distance over the pairs of a problem's correct responses (PACS, Eq. 13), over the "
        "problems with at least 2.",
        "distinct_at_m": "Distinct: expected number of different correct texts among so many correct samples, drawn "
        "without replacement (Hurlbert 1971), over the problems that have them.",
        "answer_entropy": "Answer entropy: Shannon entropy in nats over the different answers of a problem's samples.",
    },
    digits={"s_div": 4, "distinct_at_m": 2, "answer_entropy": 3},
    possible=POSSIBLE,
    numbers="Diversity",
)


class Config(BenchmarksTable):
    hard_levels: bool = False  # only the problems of the benchmark's hard levels (config/datasets.yaml)
    reference: str | None = None  # the published table, a file of the paper's folder reference/


check_published = partial(_scored.check_published, column=PUBLISHED)


def expand(name: str, config: Config, scope: Scope) -> Item:
    if len(config.over()) > 1:
        raise ConfigError(f"{scope.place}.benchmarks: a table of diversity needs exactly one benchmark")
    return _scored.expand(name, config, scope, k=[])


class DiversityLayout(ScoresLayout):
    embedding: str


def lay_out(item: Item, plan: Plan, paper: str) -> DiversityLayout:
    return filled(DiversityLayout, item, plan, paper, embedding=plan.diversity.embedding)


def statistics(layout: DiversityLayout, diversity: Scores, reference: Path | None) -> pd.DataFrame:
    """One row per model, method and measure, in the measure's own unit; k is m for distinct solutions, else 0.

    A seed's mean leaves out problems without a value (fewer than 2 correct samples, or than m); `known` is
    the number of problems with one, averaged over seeds, and `cut_share` the share of embedded responses that
    the encoder did not read to their end. Holm's correction is over all differences of the table.
    """
    values = Reference(pd.read_csv(reference)) if reference else None
    rows = []
    for panel, cells, baseline in blocks(layout):
        frames = frames_of(diversity, cells, panel.evaluations[cells[0].model], panel.levels)
        first = frames[cells[0].policies[0]]
        units = int(units_of(first).max()) + 1
        size = {"problems": len(first), "clusters": units, "samples": int(first["n"].min())}
        for cell in cells:
            ours, base = ([frames[policy] for policy in c.policies] if c else [] for c in (cell, baseline))
            for name in MEASURES:
                intervals = SeedsAndKnownProblems(layout.confidence, POSSIBLE[name])
                values_SC = matrix(ours, _column(name))
                baseline_SC = None if baseline in (None, cell) else matrix(base, _column(name))
                difference = None if baseline_SC is None else intervals.of_difference(values_SC, baseline_SC)
                m = int(first["m"].iloc[0]) if name == "distinct_at_m" else 0
                row = {
                    **head(cell, panel.name, name, m, cell.learning_rate),
                    **numbers(intervals.of(values_SC), difference, unit=1.0),
                    **published_of(values if name == "s_div" else None, cell, PUBLISHED.format(panel.published), None),
                    **sizes(cell, **size),
                    "known": float(np.mean([frame[name].notna().sum() for frame in ours])),
                    "cut_share": _cut_share(ours),
                }
                row["minus_published"] = row["value"] - row["published"] if row["published"] is not None else None
                rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]), data=frame["benchmark"].map(layout.sets()))


def _column(name: str) -> Measure:
    return lambda frame: frame[name].to_numpy(dtype=float)


def _cut_share(frames: list[pd.DataFrame]) -> float:
    embedded = sum(int(frame.loc[frame["s_div"].notna(), "correct"].sum()) for frame in frames)
    return sum(int(frame["cut"].sum()) for frame in frames) / embedded if embedded else float("nan")


def _embedded(layout: DiversityLayout, statistics: pd.DataFrame) -> list[str]:
    """A note on the number of problems of S_div, and on the responses that the encoder truncated."""
    rows = statistics.loc[statistics["score"] == "s_div"]
    low, high = rows["known"].min(), rows["known"].max()
    cut = rows["cut_share"].fillna(0.0).max()
    between = f"{low:.0f} problems" if low == high else f"{low:.0f} to {high:.0f} problems, by method"
    return [
        f"Embeddings of {layout.embedding}, which did not read to the end of {100 * cut:.1f} % of the "
        f"responses at most. S_div is of {between} (mean over seeds); a difference is over the problems that both "
        "methods have, and need not be that of the two values."
    ]


render, sentences = partial(_scored.render, WORDS, notes=_embedded), partial(_scored.sentences, WORDS)


TABLE = TableKind(
    config=Config,
    layout=DiversityLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("diversity", "reference"),
    claims=diversity_claims.CLAIMS,
    render=render,
    check_published=check_published,
    sentences=sentences,
)

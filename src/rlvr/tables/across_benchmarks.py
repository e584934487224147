"""One number per method over several benchmarks: the mean and the interquartile mean of pass@k."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from rlvr.claims import score_claims
from rlvr.config.layouts import CellLayout, ScoresLayout
from rlvr.config.measures import SHARE
from rlvr.config.schema.fields import Positive
from rlvr.items import TableKind
from rlvr.statistics.aggregate import Aggregate, Matrix, RunsAndProblemsByBenchmark, iqm, mean
from rlvr.statistics.references import NOT_PUBLISHED, Reference
from rlvr.statistics.scores import Scores, false_working, matrix, pass_at, units_of
from rlvr.statistics.table_rows import (
    UNTRAINED,
    blocks,
    frames_of,
    head,
    holm,
    minus_published,
    numbers,
    published_of,
    sizes,
    untrained_row,
)
from rlvr.tables import _scored
from rlvr.tables._methods import MethodsTable

AGGREGATES: dict[str, Aggregate] = {"mean": mean, "iqm": iqm}
WORDS = _scored.Words(
    headers={"mean": "mean @{k}", "iqm": "IQM @{k}"},
    short="iqm",
    short_words="IQM of pass@{k} over the benchmarks",
    about={
        "mean": "Mean: over the benchmarks, each with the same weight, of pass@k.",
        "iqm": "IQM: the interquartile mean of pass@k over all training runs × benchmarks, without floor(count / 4) "
        "scores at each end (Agarwal et al. 2021); with fewer than four scores it is the mean.",
    },
    drawn="training runs, each with its scores on all benchmarks, × problems of each benchmark (two-way random "
    "effects, Student's t, paired for differences): other runs and other problems, not other benchmarks",
)
sentences = partial(_scored.sentences, WORDS)


class Config(MethodsTable):
    benchmarks: list[str] = Field(min_length=1)
    k: list[Positive] = Field(min_length=1)
    reference: str | None = None  # published values on each benchmark, a file of the paper's folder reference/

    def over(self) -> list[str]:
        """The benchmarks, in order."""
        return self.benchmarks


def statistics(layout: ScoresLayout, scores: Scores, reference: Path | None = None) -> pd.DataFrame:
    """One row per model, method, k and aggregate (mean, iqm) of pass@k over the benchmarks, in percent.

    Holm's correction is over all differences of the table. The published mean is that of the paper's values on the
    benchmarks; where it lacks one of them there is none, nor is there a published IQM.
    """
    published = Reference(pd.read_csv(reference)) if reference else None
    names = ", ".join(panel.name for panel in layout.panels)
    rows = []
    for _, cells, baseline in blocks(layout.model_copy(update={"panels": layout.panels[:1]})):
        evaluations = [panel.evaluations[cells[0].model] for panel in layout.panels]
        by_benchmark = [frames_of(scores, cells, evaluation) for evaluation in evaluations]
        firsts = [frames[cells[0].policies[0]] for frames in by_benchmark]
        units = [int(units_of(first).max()) + 1 for first in firsts]
        seeds = max(len(cell.policies) for cell in cells)
        intervals = RunsAndProblemsByBenchmark(seeds, layout.confidence, SHARE)
        size = {"problems": sum(map(len, firsts)), "clusters": sum(units)}
        size["samples"] = min(int(first["n"].min()) for first in firsts)
        for cell in cells:
            false_share = false_working([frames[policy] for frames in by_benchmark for policy in cell.policies])
            for k in layout.k:
                ours = _matrices(by_benchmark, cell, k)
                base = None if baseline in (None, cell) else _matrices(by_benchmark, baseline, k)
                for name, aggregate in AGGREGATES.items():
                    difference = None if base is None else intervals.of_difference(aggregate, ours, base)
                    row = {
                        **head(cell, names, name, k, cell.learning_rate),
                        **numbers(intervals.of(aggregate, ours), difference),
                    }
                    row |= _published(published, layout, cell, k) if name == "mean" else NOT_PUBLISHED
                    row |= {**sizes(cell, **size), "minus_published": minus_published(row, cell)}
                    rows.append({**row, "false_working": false_share})
        for arm, (_, passes) in UNTRAINED.items():
            for k in layout.k:
                of_each = [passes(first, k) for first in firsts]
                if None not in of_each:
                    for name, aggregate in AGGREGATES.items():
                        value = float(aggregate(np.array([of_each], dtype=float)))
                        rows.append(untrained_row(arm, cells[0], names, name, k, value, **size))
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]), data=", ".join(layout.sets().values()))


def _published(reference: Reference | None, layout: ScoresLayout, cell: CellLayout, k: int) -> dict[str, float | None]:
    """The mean of the paper's values of a cell over the benchmarks, without a half-width."""
    values = [published_of(reference, cell, panel.published, k)["published"] for panel in layout.panels]
    known = [value for value in values if value is not None]
    return {**NOT_PUBLISHED, "published": float(np.mean(known))} if len(known) == len(values) else dict(NOT_PUBLISHED)


def _notes(layout: ScoresLayout, statistics: pd.DataFrame) -> Sequence[str]:
    if statistics["published"].isna().all():
        return []
    return ["A published mean is that of the paper's values on these benchmarks, as they are printed."]


render = partial(_scored.render, WORDS, notes=_notes)


def _matrices(by_benchmark: list[dict[str, pd.DataFrame]], cell: CellLayout, k: int) -> list[Matrix]:
    """pass@k (S, C) on each benchmark."""
    return [matrix([frames[policy] for policy in cell.policies], pass_at(k)) for frames in by_benchmark]


TABLE = TableKind(
    config=Config,
    layout=ScoresLayout,
    expand=_scored.expand,
    statistics=statistics,
    reads=("scores", "reference"),
    claims=score_claims.CLAIMS,
    render=render,
    check_published=_scored.check_published,
    sentences=sentences,
)

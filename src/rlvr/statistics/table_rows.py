"""Rows of tables of scores: pass@k with intervals and differences, and parts for tables of other measures."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layouts import CellLayout, PanelLayout, ScoresLayout
from rlvr.config.measures import SHARE
from rlvr.files import RecordError
from rlvr.statistics.frontier import OnCurve, OutOfReach, on_curve
from rlvr.statistics.intervals import Difference, Interval, SeedsAndProblems
from rlvr.statistics.references import NOT_PUBLISHED, Reference
from rlvr.statistics.scores import (
    Matrix,
    Measure,
    Scores,
    avg,
    blind,
    false_working,
    looked_up,
    maj,
    matrix,
    pass_at,
    problems_of,
    units_of,
)

PERCENT = 100.0
BASE = "base"  # the arm of the policy before training
BLIND = "blind"  # the arm of rows that say what blind guesses score
BLIND_LABEL = "Blind guess (exact)"
LOOKUP = "lookup"  # the arm of rows that say what a memory of other problems scores
UNTRAINED = {BLIND: (BLIND_LABEL, blind), LOOKUP: ("Lookup in the training set (exact)", looked_up)}


def pass_at_k_rows(layout: ScoresLayout, scores: Scores, reference: Reference | None) -> pd.DataFrame:
    """One row per benchmark, model, method and column, in percent; `score` is pass (pass@k), avg or maj (@n; k is n).

    Each difference has its p and Holm's (1979) adjusted p over all differences of the table.

    `layout` has the cells (model, arm, label, published method, policies), the panels (a benchmark, each model's
    evaluation, the levels), the values of k, other measures, the baseline arm and the settings of statistics. Where
    the baseline has `rates` (its policies at each learning rate), differences are from its curve at the method's
    pass@1, `baseline_rate` is the learning rate there, and `not_comparable` says why there is none
    (`rlvr.statistics.frontier`).
    """
    rows = []
    for panel, cells, baseline in blocks(layout):
        model = cells[0].model
        frames = frames_of(scores, cells, panel.evaluations[model], panel.levels)
        first = frames[cells[0].policies[0]]
        units, samples = int(units_of(first).max()) + 1, int(first["n"].min())
        intervals = SeedsAndProblems(layout.confidence, SHARE)
        for cell in cells:
            for score, k, measure in _columns(layout, samples):
                own_SN, against = matrix([frames[policy] for policy in cell.policies], measure), None
                # At equal pass@1 methods do not differ in pass@1, and the base policy is far from the curve.
                alike = layout.at_equal_pass_1 and (cell.arm == BASE or (score, k) == ("pass", 1))
                if baseline not in (None, cell) and not alike:
                    against = against_baseline(cell, _with_seeds_of(cell, baseline), frames, measure)
                on_curve_SN = against.score_SN if isinstance(against, OnCurve) else None
                difference = None if on_curve_SN is None else intervals.of_difference(own_SN, on_curve_SN)
                row = {
                    **head(cell, panel.name, score, k, cell.learning_rate),
                    **numbers(intervals.of(own_SN), difference),
                    **(_at_equal_pass_1(against) if layout.at_equal_pass_1 else {}),
                    **(published_of(reference, cell, panel.published, k) if score == "pass" else NOT_PUBLISHED),
                    **sizes(cell, problems=len(first), clusters=units, samples=samples),
                }
                row["minus_published"] = minus_published(row, cell)
                row["false_working"] = false_working([frames[policy] for policy in cell.policies])
                rows.append(row)
        rows += _untrained_rows(layout, cells[0], panel.name, first, units, samples)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]), data=frame["benchmark"].map(layout.sets()))


def _with_seeds_of(cell: CellLayout, baseline: CellLayout) -> CellLayout:
    """The baseline with the seeds of a cell, which may have only the first of them."""
    seeds = len(cell.policies)
    if cell.arm == BASE or seeds >= len(baseline.policies):
        return baseline
    rates = tuple(rate.model_copy(update={"policies": rate.policies[:seeds]}) for rate in baseline.rates)
    return baseline.model_copy(update={"policies": baseline.policies[:seeds], "rates": rates})


def against_baseline(
    cell: CellLayout, baseline: CellLayout, frames: dict[str, pd.DataFrame], measure: Measure
) -> OnCurve | OutOfReach:
    """The baseline's scores that a cell is compared with: its own, or those of its curve at the cell's pass@1."""

    def of(one: Measure) -> Callable[[Sequence[str]], Matrix]:
        return lambda policies: matrix([frames[policy] for policy in policies], one)

    if not baseline.rates:
        return OnCurve(of(measure)(baseline.policies), baseline.learning_rate)
    return on_curve(baseline.rates, cell.policies, of(pass_at(1)), of(measure))


def _at_equal_pass_1(against: OnCurve | OutOfReach | None) -> dict[str, Any]:
    rate = against.rate if isinstance(against, OnCurve) else None
    return {"baseline_rate": rate, "not_comparable": against.reason if isinstance(against, OutOfReach) else None}


def minus_published(row: dict[str, Any], cell: CellLayout) -> float | None:
    """The difference from the paper's value, where the model is the paper's."""
    if row["published"] is None or cell.stand_in not in cell.model.split(", "):
        return None
    return row["value"] - row["published"]


def _untrained_rows(
    layout: ScoresLayout, cell: CellLayout, benchmark: str, frame: pd.DataFrame, units: int, samples: int
) -> Iterator[dict[str, Any]]:
    """What blind guesses and lookups score in each column of pass@k, where it is known."""
    for arm, (_, passes) in UNTRAINED.items():
        for score, k, _ in _columns(layout, samples):
            value = passes(frame, k) if score == "pass" else None
            if value is not None:
                size = {"problems": len(frame), "clusters": units, "samples": samples}
                yield {**untrained_row(arm, cell, benchmark, score, k, value, **size), "false_working": None}


def untrained_row(
    arm: str, cell: CellLayout, benchmark: str, score: str, k: int, value: float, **size: int
) -> dict[str, Any]:
    """A row of an arm of UNTRAINED beside those of a cell's model. It is exact: no interval."""
    own = cell.model_copy(update={"arm": arm, "label": UNTRAINED[arm][0], "policies": ()})
    return {
        **head(own, benchmark, score, k, None),
        **numbers(Interval(value, np.nan, np.nan), None),
        **NOT_PUBLISHED,
        **sizes(own, **size),
        "minus_published": None,
    }


def blocks(layout: ScoresLayout) -> Iterator[tuple[PanelLayout, list[CellLayout], CellLayout | None]]:
    """Each panel with the cells of each model, and the baseline among them."""
    for panel in layout.panels:
        for cells in layout.by_model().values():
            yield panel, cells, next((cell for cell in cells if cell.arm == layout.compare_with), None)


def frames_of(
    scores: Scores, cells: Sequence[CellLayout], evaluation: str, levels: Sequence[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The scores of each policy on the problems of these levels. Raises RecordError where problems differ."""
    policies = [policy for cell in cells for each in (cell, *cell.rates) for policy in each.policies]
    frames = {policy: scores[policy, evaluation] for policy in policies}
    if levels is not None:
        frames = {policy: frame[frame["level"].isin(levels)] for policy, frame in frames.items()}
        if any(frame.empty for frame in frames.values()):
            raise RecordError(f"{evaluation} has no problems of the levels {', '.join(levels)}")
    problems_of(list(frames.values()), list(frames))
    return frames


def holm(p: pd.Series) -> pd.Series:
    """Holm's adjusted p-values of one family; NaN stays NaN."""
    return adjusted(p, "holm")


def false_discovery(p: pd.Series) -> pd.Series:
    """Benjamini & Hochberg's (1995) adjusted p-values of one family; NaN stays NaN.

    Those up to 5 % hold on average at most 5 % of differences that are none.
    """
    return adjusted(p, "fdr_bh")


def adjusted(p: pd.Series, method: str) -> pd.Series:
    """The p-values of one family, adjusted by a method of statsmodels; NaN stays NaN."""
    from statsmodels.stats.multitest import multipletests  # slow to import

    values = p.dropna().astype(float)
    found = multipletests(values, method=method)[1] if len(values) else values
    return pd.Series(found, index=values.index, dtype=float).reindex(p.index)


def _columns(layout: ScoresLayout, samples: int) -> list[tuple[str, int, Measure]]:
    """A table's columns: (score, k, measure of a score frame)."""
    others: dict[str, Measure] = {"avg": avg, "maj": maj}
    return [
        *(("pass", k, pass_at(k)) for k in layout.k),
        *((name, samples, others[name]) for name in layout.measures),
    ]


def head(cell: CellLayout, benchmark: str, score: str, k: int | None, rate: float | None) -> dict[str, Any]:
    """A row's identifying columns; `rate` is the learning rate that it is of."""
    columns = {"model": cell.model, "stand_in": cell.stand_in, "arm": cell.arm, "label": cell.label}
    return {**columns, "learning_rate": rate, "benchmark": benchmark, "score": score, "k": k}


def numbers(value: Interval, difference: Difference | None, unit: float = PERCENT) -> dict[str, float | None]:
    """A row's value and its difference from the baseline (none for the baseline itself)."""
    columns: dict[str, float | None] = {}
    for name, interval in (("value", value), ("difference", difference)):
        for key, part in {name: "estimate", f"{name}_low": "low", f"{name}_high": "high"}.items():
            columns[key] = None if interval is None else unit * getattr(interval, part)
    return {**columns, "difference_p": None if difference is None else difference.p}


def sizes(cell: CellLayout, *, problems: int, clusters: int, samples: int) -> dict[str, Any]:
    """A row's counts of seeds, problems and samples, and its policies."""
    seeds = 0 if cell.arm == BASE and len(cell.policies) == 1 else len(cell.policies)
    counts = {"seeds": seeds, "problems": problems, "clusters": clusters, "samples": samples}
    return {**counts, "policies": " ".join(cell.policies)}


def published_of(
    reference: Reference | None, cell: CellLayout, benchmark: str, k: int | None
) -> dict[str, float | None]:
    """The paper's value of a cell and its half-width, None where it has none."""
    if reference is None:
        return dict(NOT_PUBLISHED)
    return reference.value(cell.published_model, cell.published, benchmark, k)

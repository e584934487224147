"""Rows of tables of scores: pass@k with intervals and differences, and parts for tables of other measures."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rlvr.config.published import plain
from rlvr.config.schema.settings import Statistics
from rlvr.files import RecordError
from rlvr.statistics.effort import Probes, at_best
from rlvr.statistics.intervals import Difference, Interval, SeedsAndProblems
from rlvr.statistics.scores import (
    Matrix,
    Measure,
    Scores,
    avg,
    blind,
    false_working,
    maj,
    matrix,
    pass_at,
    problems_of,
    units_of,
)

PERCENT = 100.0
BLIND = "blind"  # the arm of rows that say what blind guesses score
Bootstrap = TypeVar("Bootstrap")
NOT_PUBLISHED: dict[str, float | None] = {"published": None, "published_ci": None}


def pass_at_k_rows(
    layout: dict[str, Any], scores: Scores, reference: pd.DataFrame | None, probes: Probes | None = None
) -> pd.DataFrame:
    """One row per benchmark, model, method and column, in percent; `score` is pass (pass@k), avg or maj (@n; k is n).

    Each difference has its p and Holm's (1979) adjusted p over all differences of the table.

    `layout` has the cells (model, arm, label, published method, and policies, or policies at several learning rates,
    from which `probes` choose one per column), the panels (a benchmark, each model's evaluation, the levels), the
    values of k, other measures, the baseline arm and the settings of statistics.
    """
    rows = []
    for panel, cells, baseline in blocks(layout):
        model = cells[0]["model"]
        frames = frames_of(scores, cells, panel["evaluations"][model], panel["levels"])
        first = frames[cells[0]["policies"][0]]
        units, samples = int(units_of(first).max()) + 1, int(first["n"].min())
        bootstrap = bootstrap_of(SeedsAndProblems, layout, cells, units)
        for cell in cells:
            for score, k, measure in _columns(layout, samples):
                by = k if score == "pass" else 1  # avg and maj use single samples
                chosen_cell = at_best(cell, by, probes or {})
                matrix_SC = _matrix(chosen_cell, frames, measure)
                difference = None
                if baseline not in (None, cell):
                    base_cell = at_best(baseline, by, probes or {})
                    difference = bootstrap.of_difference(matrix_SC, _matrix(base_cell, frames, measure))
                row = {
                    **head(chosen_cell, panel["name"], score, k),
                    **numbers(bootstrap.of(matrix_SC), difference),
                    **published(reference if score == "pass" else None, cell, panel["published"], k),
                    **sizes(chosen_cell, problems=len(first), clusters=units, samples=samples),
                }
                row["minus_published"] = row["value"] - row["published"] if row["published"] is not None else None
                row["false_working"] = false_working([frames[policy] for policy in chosen_cell["policies"]])
                rows.append(row)
        rows += _blind_rows(layout, cells[0], panel["name"], first, units, samples)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def _blind_rows(
    layout: dict[str, Any], cell: dict[str, Any], benchmark: str, frame: pd.DataFrame, units: int, samples: int
) -> Iterator[dict[str, Any]]:
    """What blind guesses score in each column of pass@k, where their chance is known. It is exact: no interval."""
    guesser = {**cell, "arm": BLIND, "label": "Blind guess (exact)", "learning_rate": None, "policies": []}
    for score, k, _ in _columns(layout, samples):
        value = blind(frame, k) if score == "pass" else None
        if value is not None:
            yield {
                **head(guesser, benchmark, score, k),
                **numbers(Interval(value, np.nan, np.nan), None),
                **NOT_PUBLISHED,
                **sizes(guesser, problems=len(frame), clusters=units, samples=samples),
                **{"minus_published": None, "false_working": None},
            }


def blocks(layout: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]]:
    """Each panel with the cells of each model, and the baseline among them."""
    for panel in layout["panels"]:
        for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
            cells = [cell for cell in layout["cells"] if cell["model"] == model]
            yield panel, cells, next((cell for cell in cells if cell["arm"] == layout["compare_with"]), None)


def bootstrap_of(kind: type[Bootstrap], layout: dict[str, Any], cells: list[dict[str, Any]], units: Any) -> Bootstrap:
    """The bootstrap of a model's cells. Its own generator: another model in the table changes no number."""
    drawn = Statistics.model_validate(layout["statistics"])
    options: dict[str, Any] = {"resamples": drawn.resamples, "confidence": drawn.confidence}
    return kind(
        max(len(cell["policies"]) for cell in cells), units, **options, generator=np.random.default_rng(drawn.seed)
    )


def frames_of(
    scores: Scores, cells: list[dict[str, Any]], evaluation: str, levels: list[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The scores of each policy on the problems of these levels. Raises RecordError where problems differ."""
    policies = [policy for cell in cells for rate in cell.get("rates") or [cell] for policy in rate["policies"]]
    frames = {policy: scores[policy, evaluation] for policy in policies}
    if levels is not None:
        frames = {policy: frame[frame["level"].isin(levels)] for policy, frame in frames.items()}
        if any(frame.empty for frame in frames.values()):
            raise RecordError(f"{evaluation} has no problems of the levels {', '.join(levels)}")
    problems_of(list(frames.values()), list(frames))
    return frames


def _matrix(cell: dict[str, Any], frames: dict[str, pd.DataFrame], measure: Measure) -> Matrix:
    return matrix([frames[policy] for policy in cell["policies"]], measure)


def holm(p: pd.Series) -> pd.Series:
    """Holm's adjusted p-values of one family; NaN stays NaN."""
    from statsmodels.stats.multitest import multipletests  # slow to import

    p_values = p.dropna().astype(float)
    adjusted = multipletests(p_values, method="holm")[1] if len(p_values) else p_values
    return pd.Series(adjusted, index=p_values.index, dtype=float).reindex(p.index)


def _columns(layout: dict[str, Any], samples: int) -> list[tuple[str, int, Measure]]:
    """A table's columns: (score, k, measure of a score frame)."""
    others: dict[str, Measure] = {"avg": avg, "maj": maj}
    return [
        *(("pass", k, pass_at(k)) for k in layout["k"]),
        *((name, samples, others[name]) for name in layout.get("measures", [])),
    ]


def head(cell: dict[str, Any], benchmark: str, score: str, k: int | None) -> dict[str, Any]:
    """A row's identifying columns."""
    columns = {key: cell[key] for key in ("model", "stand_in", "arm", "label", "learning_rate")}
    return {**columns, "benchmark": benchmark, "score": score, "k": k}


def numbers(value: Interval, difference: Difference | None, unit: float = PERCENT) -> dict[str, float | None]:
    """A row's value and its difference from the baseline (none for the baseline itself)."""
    columns: dict[str, float | None] = {}
    for name, interval in (("value", value), ("difference", difference)):
        for key, part in {name: "estimate", f"{name}_low": "low", f"{name}_high": "high"}.items():
            columns[key] = None if interval is None else unit * getattr(interval, part)
    return {**columns, "difference_p": None if difference is None else difference.p}


def sizes(cell: dict[str, Any], *, problems: int, clusters: int, samples: int) -> dict[str, Any]:
    """A row's counts of seeds, problems and samples, and its policies."""
    seeds = 0 if cell["arm"] == "base" else len(cell["policies"])
    counts = {"seeds": seeds, "problems": problems, "clusters": clusters, "samples": samples}
    return {**counts, "policies": " ".join(cell["policies"])}


def published(
    frame: pd.DataFrame | None, cell: dict[str, Any], benchmark: str, k: int | None
) -> dict[str, float | None]:
    """The paper's value and half-width, or None without a matching cell; k is None for a table without k."""
    empty = dict(NOT_PUBLISHED)
    if frame is None or cell["published"] is None:
        return empty
    names = frame["benchmark"].map(plain)
    matches = frame[
        (frame["model"].map(plain) == plain(cell["published_model"]))
        & (frame["method"] == cell["published"])
        & (names == plain(benchmark))
        & (frame["k"].isna() if k is None else frame["k"].astype(float) == k)
    ]
    if matches.empty:
        return empty
    ci = pd.to_numeric(matches["ci"]).iloc[0]
    return {"published": float(matches["value"].iloc[0]), "published_ci": None if pd.isna(ci) else float(ci)}

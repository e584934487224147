"""Stage: statistics. From the scores of a table's runs to its numbers: measures, intervals, differences, published."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr.config.published import plain
from rlvr.config.schema.settings import Statistics
from rlvr.files import RecordError, publish, read_lines
from rlvr.statistics.effort import Probes, at_best
from rlvr.statistics.intervals import Difference, Interval, SeedsAndProblems
from rlvr.statistics.scores import Matrix, Measure, Scores, avg, maj, matrix, pass_at, problems_of, read_all, units_of

PERCENT = 100.0
NOT_PUBLISHED: dict[str, float | None] = {"published": None, "published_ci": None}


def summarise(
    layout: dict[str, Any], scores: Scores, reference: pd.DataFrame | None, probes: Probes | None = None
) -> pd.DataFrame:
    """One row a benchmark, model, method and column, in percent: `score` is pass (pass@k), avg (avg@n) or maj (maj@n; k
    is n).

    Each difference has its p and, over all differences of the table, Holm's (1979) adjusted one.

    `layout` names the cells (model, arm, label, published method, policies; or the policies at each of several learning
    rates, of which each column has the one that validation problems, in `probes`, prefer), the panels (a benchmark, the
    evaluation of each model on it, the levels that count), the values of k, other measures, the arm to compare with and
    the statistics settings.
    """
    settings = Statistics.model_validate(layout["statistics"])
    rows = []
    for panel, cells, baseline in blocks(layout):
        model = cells[0]["model"]
        frames = frames_of(scores, cells, panel["evaluations"][model], panel["levels"])
        first = frames[cells[0]["policies"][0]]
        units, samples = int(units_of(first).max()) + 1, int(first["n"].min())
        # One generator a model: the numbers of a model do not change when another one joins the table.
        bootstrap = SeedsAndProblems(
            max(len(cell["policies"]) for cell in cells),
            units,
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(settings.seed),
        )
        for cell in cells:
            for score, k, measure in _columns(layout, samples):
                by = k if score == "pass" else 1  # the others are of single samples
                here = at_best(cell, by, probes or {})
                matrix_SC = _matrix(here, frames, measure)
                difference = None
                if baseline not in (None, cell):
                    other = at_best(baseline, by, probes or {})
                    difference = bootstrap.of_difference(matrix_SC, _matrix(other, frames, measure))
                row = {
                    **head(here, panel["name"], score, k),
                    **numbers(bootstrap.of(matrix_SC), difference),
                    **published(reference if score == "pass" else None, cell, panel["published"], k),
                    **sizes(here, problems=len(first), clusters=units, samples=samples),
                }
                row["minus_published"] = row["value"] - row["published"] if row["published"] is not None else None
                rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def blocks(
    layout: dict[str, Any],
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]]:
    """Each panel with the cells of each model, and of them the one that the others are compared with."""
    for panel in layout["panels"]:
        for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
            cells = [cell for cell in layout["cells"] if cell["model"] == model]
            yield panel, cells, next((cell for cell in cells if cell["arm"] == layout["compare_with"]), None)


def frames_of(
    scores: Scores, cells: list[dict[str, Any]], evaluation: str, levels: list[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The scores of each policy on the problems of these levels, which must be the same for all."""
    policies = [policy for cell in cells for policy in _candidates(cell)]
    frames = {policy: scores[policy, evaluation] for policy in policies}
    if levels is not None:
        frames = {policy: frame[frame["level"].isin(levels)] for policy, frame in frames.items()}
        if any(frame.empty for frame in frames.values()):
            raise RecordError(f"{evaluation} has no problems of the levels {', '.join(levels)}")
    problems_of(list(frames.values()), list(frames))
    return frames


def _candidates(cell: dict[str, Any]) -> list[str]:
    """Every policy that a cell may be of."""
    return [policy for rate in cell.get("rates") or [cell] for policy in rate["policies"]]


def _matrix(cell: dict[str, Any], frames: dict[str, pd.DataFrame], measure: Measure) -> Matrix:
    return matrix([frames[policy] for policy in cell["policies"]], measure)


def holm(p: pd.Series) -> pd.Series:
    """Adjusted p-values of one family; cells without one stay without one."""
    from statsmodels.stats.multitest import multipletests  # takes half a second, which some processes need not wait for

    known = p.dropna().astype(float)
    adjusted = multipletests(known, method="holm")[1] if len(known) else known
    return pd.Series(adjusted, index=known.index, dtype=float).reindex(p.index)


def _columns(layout: dict[str, Any], samples: int) -> list[tuple[str, int, Measure]]:
    """A table's columns: (score, k, how it is computed of a score frame)."""
    others: dict[str, Measure] = {"avg": avg, "maj": maj}
    return [
        *(("pass", k, pass_at(k)) for k in layout["k"]),
        *((name, samples, others[name]) for name in layout.get("measures", [])),
    ]


def head(cell: dict[str, Any], benchmark: str, score: str, k: int | None) -> dict[str, Any]:
    """What a row is of."""
    named = {key: cell[key] for key in ("model", "stand_in", "arm", "label", "learning_rate")}
    return {**named, "benchmark": benchmark, "score": score, "k": k}


def numbers(value: Interval, difference: Difference | None, unit: float = PERCENT) -> dict[str, float | None]:
    """A row's value and its difference to the baseline's, which the baseline has not."""
    made: dict[str, float | None] = {}
    for name, interval in (("value", value), ("difference", difference)):
        for key, part in {name: "estimate", f"{name}_low": "low", f"{name}_high": "high"}.items():
            made[key] = None if interval is None else unit * getattr(interval, part)
    return {**made, "difference_p": None if difference is None else difference.p}


def sizes(cell: dict[str, Any], *, problems: int, clusters: int, samples: int) -> dict[str, Any]:
    """How much a row is made of, and of which policies."""
    seeds = 0 if cell["arm"] == "base" else len(cell["policies"])
    made = {"seeds": seeds, "problems": problems, "clusters": clusters, "samples": samples}
    return {**made, "policies": " ".join(cell["policies"])}


def published(
    frame: pd.DataFrame | None, cell: dict[str, Any], benchmark: str, k: int | None
) -> dict[str, float | None]:
    """The paper's value and half-width, where its table has this cell; k is None where the table has no k."""
    empty = dict(NOT_PUBLISHED)
    if frame is None or cell["published"] is None:
        return empty
    names = frame["benchmark"].map(plain)
    found = frame[
        (frame["model"].map(plain) == plain(cell["published_model"]))
        & (frame["method"] == cell["published"])
        & (names == plain(benchmark))
        & (frame["k"].isna() if k is None else frame["k"].astype(float) == k)
    ]
    if found.empty:
        return empty
    ci = pd.to_numeric(found["ci"]).iloc[0]
    return {"published": float(found["value"].iloc[0]), "published_ci": None if pd.isna(ci) else float(ci)}


def main(
    layout: Annotated[str, typer.Option(help="What the table is made of, as JSON.")],
    scores: Annotated[list[Path], typer.Argument(help="scores.csv of every policy in the table.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
    reference: Annotated[Path | None, typer.Option(help="CSV with the published values.")] = None,
    probe: Annotated[list[Path] | None, typer.Option(help="probe.jsonl of runs to choose learning rates by.")] = None,
) -> None:
    """Compute a pass@k table."""
    probes = {path.parent.name: list(read_lines(path)) for path in probe or []}
    table = summarise(json.loads(layout), read_all(scores), pd.read_csv(reference) if reference else None, probes)
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

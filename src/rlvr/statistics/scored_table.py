"""Stage: statistics. From the scores of a table's runs to its numbers: measures, intervals, differences, published."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from statsmodels.stats.multitest import multipletests

from rlvr.config.schema import Statistics
from rlvr.records import publish
from rlvr.statistics.intervals import Difference, Interval, SeedsAndProblems
from rlvr.statistics.scores import Measure, avg, maj, matrix, pass_at, problems_of, read, units_of

PERCENT = 100.0
NOT_PUBLISHED: dict[str, float | None] = {"published": None, "published_ci": None}


def summarise(layout: dict[str, Any], scores: dict[str, pd.DataFrame], reference: pd.DataFrame | None) -> pd.DataFrame:
    """One row a model, method and column, in percent: `score` is pass (pass@k), avg (avg@n) or maj (maj@n; k is n).

    Each difference has its p and, over all differences of the table, Holm's (1979) adjusted one.

    `layout` names the cells (model, arm, label, published method, policies), the values of k, other measures, the
    arm to compare with and the statistics settings; `scores` are score frames by policy id.
    """
    settings = Statistics.model_validate(layout["statistics"])
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
        cells = [cell for cell in layout["cells"] if cell["model"] == model]
        seeds = max(len(cell["policies"]) for cell in cells)
        policies = [policy for cell in cells for policy in cell["policies"]]
        problems = problems_of([scores[policy] for policy in policies], policies)
        units = int(units_of(scores[policies[0]]).max()) + 1
        samples = int(scores[policies[0]]["n"].min())
        # One generator a model: the numbers of a model do not change when another one joins the table.
        bootstrap = SeedsAndProblems(
            seeds,
            units,
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(settings.seed),
        )
        baseline = next((cell for cell in cells if cell["arm"] == layout["compare_with"]), None)
        for cell in cells:
            own, other = ([scores[policy] for policy in c["policies"]] if c else [] for c in (cell, baseline))
            for score, k, measure in _columns(layout, samples):
                matrix_SC = matrix(own, measure)
                against = None if baseline in (None, cell) else matrix(other, measure)
                difference = None if against is None else bootstrap.of_difference(matrix_SC, against)
                row = {
                    **head(cell, layout["benchmark"], score, k),
                    **numbers(bootstrap.of(matrix_SC), difference),
                    **published(reference if score == "pass" else None, cell, layout["benchmark"], k),
                    **sizes(cell, problems=len(problems), clusters=units, samples=samples),
                }
                row["minus_published"] = row["value"] - row["published"] if row["published"] is not None else None
                rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def holm(p: pd.Series) -> pd.Series:
    """Adjusted p-values of one family; cells without one stay without one."""
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
    names = frame["benchmark"].map(_plain)
    found = frame[
        (frame["model"].map(_plain) == _plain(cell["model"]))
        & (frame["method"] == cell["published"])
        & (names == _plain(benchmark))
        & (frame["k"].isna() if k is None else frame["k"].astype(float) == k)
    ]
    if found.empty:
        return empty
    ci = pd.to_numeric(found["ci"]).iloc[0]
    return {"published": float(found["value"].iloc[0]), "published_ci": None if pd.isna(ci) else float(ci)}


def _plain(name: str) -> str:
    return "".join(character for character in str(name).lower() if character.isalnum())


def main(
    layout: Annotated[str, typer.Option(help="What the table is made of, as JSON.")],
    scores: Annotated[list[Path], typer.Argument(help="scores.csv of every policy in the table.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
    reference: Annotated[Path | None, typer.Option(help="CSV with the published values.")] = None,
) -> None:
    """Compute a pass@k table."""
    frames = {}
    for path in scores:
        frame = read(path)
        frames[str(frame["policy"].iloc[0])] = frame
    table = summarise(json.loads(layout), frames, pd.read_csv(reference) if reference else None)
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

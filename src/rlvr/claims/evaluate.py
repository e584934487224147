"""Stage: claims. The contrasts of each claim of a paper at one scale, with intervals, and its verdict."""

import importlib
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import stages
from rlvr.claims._contrast import Estimate, Evidence
from rlvr.claims.contrasts import CONTRADICTED, INCONCLUSIVE, NOT_RUN, REPRODUCED, needs
from rlvr.config.paths import Paths
from rlvr.files import publish, read_json, read_lines
from rlvr.statistics.effort import best
from rlvr.statistics.scores import read_all
from rlvr.statistics.table_rows import published as in_reference

HOLDS, FAILS, SILENT = "holds in its own table", "does not hold in its own table", "no published numbers"
ROUNDED = 1e-9  # equal printed values are a tie


def verdict_of(estimate: Estimate, threshold: float, near: bool) -> str:
    """The verdict on one contrast. `near`: it should be within the threshold of 0, else above the threshold.

    Reproduced if the whole interval lies in the claimed region, contradicted if the whole wider interval lies outside.
    """
    low, high = (-threshold, threshold) if near else (threshold, float("inf"))
    inside = estimate.low >= low and estimate.high <= high if near else estimate.low > low
    if inside:
        return REPRODUCED
    outside = estimate.high_of_all < low or estimate.low_of_all > high
    return CONTRADICTED if outside else INCONCLUSIVE


def together(verdicts: list[str]) -> str:
    """The verdict on a claim: reproduced if all its contrasts are, contradicted if one is.

    The first is an intersection-union test and needs no correction; the second uses Bonferroni's wider intervals.
    Contrasts that did not run do not count.
    """
    run = [verdict for verdict in verdicts if verdict != NOT_RUN]
    if not run:
        return NOT_RUN
    if CONTRADICTED in run:
        return CONTRADICTED
    return REPRODUCED if set(run) == {REPRODUCED} else INCONCLUSIVE


def evaluate(claim: dict[str, Any], inputs: Evidence) -> list[dict[str, Any]]:
    """One row per contrast: estimate, interval, verdict. Raises RecordError where scores cover different problems."""
    count = sum(bool(contrast["terms"]) for contrast in claim["contrasts"])
    rows = []
    for contrast in claim["contrasts"]:
        head = {key: claim[key] for key in ("paper", "claim", "effort")}
        row = {**head, **{key: contrast[key] for key in ("says", "model", "stand_in", "benchmark")}}
        if not contrast["terms"]:
            rows.append({**row, "verdict": NOT_RUN})
            continue
        terms = [
            {**term, **(best(term["rates"], term["k"], inputs.probes) if len(term["rates"]) > 1 else term["rates"][0])}
            for term in contrast["terms"]
        ]
        estimate = importlib.import_module(claim["module"]).estimate(terms, claim, inputs, count)
        verdict = verdict_of(estimate, claim["threshold"], claim["predicate"] == "within")
        rates = dict.fromkeys(f"{t['label']} {t['learning_rate']:.2g}" for t in terms if t["learning_rate"] is not None)
        policies = dict.fromkeys(policy for term in terms for policy in term["policies"])
        rows.append(
            {
                **row,
                **{"verdict": verdict, "estimate": estimate.value, "low": estimate.low, "high": estimate.high},
                **{"low_of_all": estimate.low_of_all, "high_of_all": estimate.high_of_all},
                **{"seeds": estimate.seeds, "problems": estimate.problems, "unit": estimate.unit},
                **{"learning_rates": ", ".join(rates), "policies": " ".join(policies)},
            }
        )
    return rows


# ---- the paper's numbers -------------------------------------------------------------------------


def published(claim: dict[str, Any], reference: pd.DataFrame | None) -> dict[str, Any]:
    """Whether the claim holds in the paper's table, by contrasts of published values without intervals."""
    margins = []
    for contrast in claim["published"] if reference is not None else []:
        values = [_published_value(reference, contrast, term) for term in contrast["terms"]]
        if all(value is not None for value in values):
            total = sum(t["weight"] * v for t, v in zip(contrast["terms"], values, strict=True))
            margins.append((contrast, float(total)))
    if not margins:
        return {"published": SILENT, "published_cells": "", "published_exceptions": ""}
    near, threshold = claim["predicate"] == "within", claim["threshold"]
    failures = [
        (contrast, total)
        for contrast, total in margins
        if (abs(total) > threshold + ROUNDED if near else total <= threshold + ROUNDED)
    ]
    words = [f"{c['model']}, {c['benchmark']}: {c['says']} = {total:+.1f}" for c, total in failures]
    return {
        "published": FAILS if failures else HOLDS,
        "published_cells": f"{len(margins) - len(failures)} of {len(margins)}",
        "published_exceptions": "; ".join(words),
    }


def _published_value(reference: pd.DataFrame, contrast: dict[str, Any], term: dict[str, Any]) -> float | None:
    cell = {"published_model": contrast["model"], "published": term["method"]}
    return None if term["hard"] else in_reference(reference, cell, contrast["benchmark"], term["k"])["published"]


# ---- the row of a claim --------------------------------------------------------------------------


def summarise(claim: dict[str, Any], rows: list[dict[str, Any]], scale: str) -> dict[str, Any]:
    """The row of a claim: its verdict, and the contrast that decides it, which has the smallest margin."""
    run = [row for row in rows if row["verdict"] != NOT_RUN]
    order = [CONTRADICTED, INCONCLUSIVE, REPRODUCED]
    near = claim["predicate"] == "within"
    decisive = min(
        run,
        key=lambda row: (order.index(row["verdict"]), -abs(row["estimate"]) if near else row["estimate"]),
        default={},
    )
    return {
        "scale": scale,
        **{key: claim[key] for key in ("paper", "short", "claim", "says", "place", "over", "effort", "predicate")},
        "threshold": claim["threshold"],
        "verdict": together([row["verdict"] for row in rows]),
        "contrasts": len(rows),
        "run": len(run),
        **{f"{name}_contrasts": sum(row["verdict"] == name for row in rows) for name in order[::-1]},
        "deciding": f"{decisive['says']} on {decisive['benchmark'] or decisive['stand_in']}" if decisive else "",
        **{key: decisive.get(key) for key in ("model", "stand_in", "estimate", "low", "high", "seeds", "problems")},
        **{key: decisive.get(key) for key in ("low_of_all", "high_of_all", "unit", "learning_rates")},
    }


def main(
    spec: stages.Spec,
    results: stages.Results,
    out: Annotated[list[Path], typer.Option(help="CSV of claims, and CSV of their contrasts.")],
) -> None:
    """Evaluate the claims of a paper at one scale, from the scores and curves in the results folder."""
    content = read_json(spec)
    scale, claims, references = content["scale"], content["claims"], Path(content["references"])
    paths = Paths(str(results), scale)
    pairs, runs = needs(claims)
    scores = read_all([Path(paths.scores(*pair)) for pair in pairs])
    probes, metrics = ({run: list(read_lines(Path(paths.rows(run)[i]))) for run in runs} for i in (0, 1))
    inputs = Evidence(scores, probes, metrics)
    summaries, contrasts = [], []
    for claim in claims:
        rows = evaluate(claim, inputs)
        table = pd.read_csv(references / claim["reference"]) if claim["reference"] else None
        summaries.append({**summarise(claim, rows, scale), **published(claim, table)})
        contrasts += rows
    for path, rows in zip(out, (summaries, contrasts), strict=True):
        publish(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

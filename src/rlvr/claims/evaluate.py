"""Stage: claims. Each claim of a paper at one scale: its contrasts with intervals, and what they say of it.

Dimensions: S training seeds, C units of resampling (problems, or their clusters), B bootstrap draws.
"""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

from rlvr.claims.contrasts import CONTRADICTED, INCONCLUSIVE, NOT_RUN, REPRODUCED, layout, needs
from rlvr.config.layers import ConfigError
from rlvr.config.measures import shown
from rlvr.config.paths import Paths
from rlvr.config.schema.settings import Statistics
from rlvr.files import RecordError, publish, read_lines
from rlvr.planning.expansion import make_plan
from rlvr.planning.layouts import as_planned
from rlvr.statistics.collapse import judge, unsolved_shares
from rlvr.statistics.effort import Probes, best
from rlvr.statistics.intervals import draw
from rlvr.statistics.scored_table import published as in_reference
from rlvr.statistics.scores import Matrix, Measure, Scores, matrix, pass_at, problems_of, read_all, units_of

HOLDS, FAILS, SILENT = "holds in its own table", "does not hold in its own table", "no published numbers"
SEEDS, SEEDS_AND_PROBLEMS = "training seeds", "training seeds × problems"
PERCENT = 100.0
ROUNDED = 1e-9  # published values are read as they are printed: equal ones are a tie


@dataclass(frozen=True)
class Estimate:
    """A contrast's value with its interval, and a wider one for as many contrasts as its claim has."""

    value: float
    low: float
    high: float
    low_of_all: float
    high_of_all: float
    seeds: int
    problems: int | None
    unit: str


def verdict_of(estimate: Estimate, threshold: float, near: bool) -> str:
    """Of one contrast. `near`: the claim is that it is at most the threshold away from 0, else that it is above it.

    Reproduced where the whole interval is where the claim says, contradicted where the whole of the wider interval is
    elsewhere.
    """
    low, high = (-threshold, threshold) if near else (threshold, float("inf"))
    inside = estimate.low >= low and estimate.high <= high if near else estimate.low > low
    if inside:
        return REPRODUCED
    outside = estimate.high_of_all < low or estimate.low_of_all > high
    return CONTRADICTED if outside else INCONCLUSIVE


def together(verdicts: list[str]) -> str:
    """Of a claim: reproduced where each of its contrasts is, contradicted where one is.

    The first is an intersection-union test and needs no correction; for the second each contrast's interval is
    Bonferroni's. A contrast that was not run says nothing.
    """
    run = [verdict for verdict in verdicts if verdict != NOT_RUN]
    if not run:
        return NOT_RUN
    if CONTRADICTED in run:
        return CONTRADICTED
    return REPRODUCED if set(run) == {REPRODUCED} else INCONCLUSIVE


def evaluate(claim: dict[str, Any], scores: Scores, probes: Probes, metrics: Probes) -> list[dict[str, Any]]:
    """A row a contrast: estimate, interval, verdict. Raises RecordError where scores are of different problems."""
    settings = Statistics.model_validate(claim["statistics"])
    count = sum(bool(contrast["terms"]) for contrast in claim["contrasts"])
    rows = []
    for contrast in claim["contrasts"]:
        head = {key: claim[key] for key in ("paper", "claim", "effort")}
        row = {**head, **{key: contrast[key] for key in ("says", "model", "stand_in", "benchmark")}}
        if not contrast["terms"]:
            rows.append({**row, "verdict": NOT_RUN})
            continue
        terms = [
            {**term, **(best(term["rates"], term["k"], probes) if len(term["rates"]) > 1 else term["rates"][0])}
            for term in contrast["terms"]
        ]
        if claim["collapse"] is not None:
            estimate = of_collapse(terms, claim["collapse"], metrics, settings.confidence, count)
        elif claim["measure"] is None:
            estimate = of_scores(terms, scores, settings, count)
        else:
            estimate = of_curves(terms, claim, probes, metrics, settings.confidence, count)
        found = verdict_of(estimate, claim["threshold"], claim["predicate"] == "within")
        rates = dict.fromkeys(f"{t['label']} {t['learning_rate']:.2g}" for t in terms if t["learning_rate"] is not None)
        policies = dict.fromkeys(policy for term in terms for policy in term["policies"])
        rows.append(
            {
                **row,
                **{"verdict": found, "estimate": estimate.value, "low": estimate.low, "high": estimate.high},
                **{"low_of_all": estimate.low_of_all, "high_of_all": estimate.high_of_all},
                **{"seeds": estimate.seeds, "problems": estimate.problems, "unit": estimate.unit},
                **{"learning_rates": ", ".join(rates), "policies": " ".join(policies)},
            }
        )
    return rows


def of_scores(terms: list[dict[str, Any]], scores: Scores, settings: Statistics, count: int) -> Estimate:
    """A sum of pass@k's in percent points, paired by seed and problem.

    Its interval is the wider, at each end, of a two-way bootstrap over seeds and problems and of Student's t over
    seeds: a bootstrap of few seeds is too narrow where runs of one method lie far apart, and t draws no problems.
    """
    policies = [policy for term in terms for policy in term["policies"]]
    evaluation = terms[0]["evaluation"]
    problems_of([scores[policy, evaluation] for policy in policies], policies)
    first = scores[policies[0], evaluation]
    units, seeds = int(units_of(first).max()) + 1, max(len(term["policies"]) for term in terms)
    generator = np.random.default_rng(settings.seed)
    seeds_BS, units_BC = (draw(size, settings.resamples, generator) for size in (seeds, units))
    values_S, draws_B = np.zeros(seeds), np.zeros(settings.resamples)
    for term in terms:
        frames = [scores[policy, evaluation] for policy in term["policies"]]
        scores_SC = matrix(frames, _pass_at(term["k"], term["levels"]))
        known_C = ~np.isnan(scores_SC[0])
        scores_SC = np.nan_to_num(scores_SC)
        if len(scores_SC) == 1:  # a policy without a training seed
            scores_SC = np.repeat(scores_SC, seeds, axis=0)
        values_S += term["weight"] * scores_SC[:, known_C].mean(axis=1)
        weights_B = units_BC @ known_C
        means_BS = np.divide(
            units_BC @ scores_SC.T,
            weights_B[:, None],
            where=weights_B[:, None] > 0,
            out=np.full(seeds_BS.shape, np.nan),
        )
        draws_B += term["weight"] * (means_BS * seeds_BS).sum(axis=1)
    draws_B = PERCENT * draws_B[~np.isnan(draws_B)]
    tail = (1 - settings.confidence) / 2
    bounds = [_wider(draws_B, PERCENT * values_S, part) for part in (tail, tail / count)]
    return Estimate(PERCENT * float(values_S.mean()), *bounds[0], *bounds[1], seeds, len(first), SEEDS_AND_PROBLEMS)


def _wider(draws_B: Matrix, values_S: Matrix, tail: float) -> tuple[float, float]:
    low, high = np.quantile(draws_B, [tail, 1 - tail])
    if len(values_S) < 2:
        return float(low), float(high)
    half = half_width(values_S, tail)
    return min(float(low), float(values_S.mean()) - half), max(float(high), float(values_S.mean()) + half)


def half_width(values_S: Matrix, tail: float) -> float:
    """Of Student's t interval of a mean over seeds."""
    return float(stats.t.ppf(1 - tail, len(values_S) - 1) * stats.sem(values_S))


def _pass_at(k: int, levels: list[str] | None) -> Measure:
    """pass@k of each problem; NaN for those of other levels, so that the units stay those of the whole set."""

    def measure(frame: pd.DataFrame) -> Matrix:
        values_N = pass_at(k)(frame)
        if levels is None:
            return values_N
        inside_N = frame["level"].isin(levels).to_numpy()
        if not inside_N.any():
            raise RecordError(f"no problems of the levels {', '.join(levels)}")
        return np.where(inside_N, values_N, np.nan)

    return measure


def of_curves(
    terms: list[dict[str, Any]],
    claim: dict[str, Any],
    probes: Probes,
    metrics: Probes,
    confidence: float,
    count: int,
) -> Estimate:
    """A sum of means over a part of training, in the measure's unit, with Student's t over seeds, which are paired."""
    measure = shown(claim["measure"])
    rows = probes if measure.rows == "probe" else metrics
    seeds = max(len(term["policies"]) for term in terms)
    values_S = np.zeros(seeds)
    for term in terms:
        values_S += term["weight"] * np.array(
            [_mean_during(rows[policy], measure.name, claim["during"]) for policy in term["policies"]]
        )
    value = float(values_S.mean())
    if seeds < 2:
        return Estimate(value, *[float("nan")] * 4, seeds, None, SEEDS)
    tail = (1 - confidence) / 2
    half, half_of_all = (half_width(values_S, part) for part in (tail, tail / count))
    return Estimate(value, value - half, value + half, value - half_of_all, value + half_of_all, seeds, None, SEEDS)


def of_collapse(
    terms: list[dict[str, Any]], rule: dict[str, float], metrics: Probes, confidence: float, count: int
) -> Estimate:
    """The difference of two methods' shares of collapsed runs, with Newcombe's (1998) score interval."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    left, right = sorted(terms, key=lambda term: -term["weight"])
    (first, n), (second, m) = (
        (_collapsed(term["policies"], rule, metrics), len(term["policies"])) for term in (left, right)
    )

    def interval(alpha: float) -> tuple[float, float]:
        return confint_proportions_2indep(first, n, second, m, method="newcomb", compare="diff", alpha=alpha)

    low, high = interval(1 - confidence)
    low_of_all, high_of_all = interval((1 - confidence) / count)
    return Estimate(first / n - second / m, low, high, low_of_all, high_of_all, min(n, m), None, SEEDS)


def _collapsed(runs: list[str], rule: dict[str, float], metrics: Probes) -> int:
    return sum(judge(np.array(unsolved_shares(metrics[run], run)), **rule).collapsed for run in runs)


def _mean_during(rows: list[dict[str, Any]], name: str, during: list[float]) -> float:
    """The mean over rows in a part of training, given as shares of its steps, without the one before training."""
    last = max(row["step"] for row in rows)
    own = [row[name] for row in rows if row["step"] and during[0] <= row["step"] / last <= during[1]]
    known = [value for value in own if value is not None]
    return float(np.mean(known)) if known else float("nan")


# ---- the paper's own numbers ---------------------------------------------------------------------


def published(claim: dict[str, Any], reference: pd.DataFrame | None) -> dict[str, Any]:
    """Whether the claim holds in the paper's own table: its contrasts of published values, without an interval."""
    margins = []
    for contrast in claim["published"] if reference is not None else []:
        values = [_published_value(reference, contrast, term) for term in contrast["terms"]]
        if all(value is not None for value in values):
            total = sum(t["weight"] * v for t, v in zip(contrast["terms"], values, strict=True))
            margins.append((contrast, float(total)))
    if not margins:
        return {"published": SILENT, "published_cells": "", "published_exceptions": ""}
    near, threshold = claim["predicate"] == "within", claim["threshold"]
    bad = [
        (contrast, total)
        for contrast, total in margins
        if (abs(total) > threshold + ROUNDED if near else total <= threshold + ROUNDED)
    ]
    words = [f"{c['model']}, {c['benchmark']}: {c['says']} = {total:+.1f}" for c, total in bad]
    return {
        "published": FAILS if bad else HOLDS,
        "published_cells": f"{len(margins) - len(bad)} of {len(margins)}",
        "published_exceptions": "; ".join(words),
    }


def _published_value(reference: pd.DataFrame, contrast: dict[str, Any], term: dict[str, Any]) -> float | None:
    cell = {"published_model": contrast["model"], "published": term["method"]}
    return None if term["hard"] else in_reference(reference, cell, contrast["benchmark"], term["k"])["published"]


# ---- a claim in a row ----------------------------------------------------------------------------


def summarise(claim: dict[str, Any], rows: list[dict[str, Any]], scale: str) -> dict[str, Any]:
    """A row a claim: the verdict over its contrasts, and the one that decides it, which has the smallest margin."""
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
    scale: Annotated[str, typer.Option(help="The scale they were run at.")],
    paper: Annotated[str, typer.Option(help="The paper whose claims are evaluated.")],
    results: Annotated[Path, typer.Option(help="The results folder.")],
    out: Annotated[list[Path], typer.Option(help="CSV of claims, and CSV of their contrasts.")],
    root: Annotated[Path, typer.Option(help="The folder that holds config/.")] = Path(),
    planned: Annotated[str | None, typer.Option(help="Digest of the claims as Snakemake planned them.")] = None,
) -> None:
    """Evaluate the claims of a paper at one scale, from the scores and curves that stand below the results."""
    try:
        claims = as_planned(layout(make_plan(root, scale, [paper]), paper), planned)
    except ConfigError as error:
        raise SystemExit(str(error)) from error
    paths = Paths(str(results), scale)
    pairs, runs = needs(claims)
    scores = read_all([Path(paths.scores(*pair)) for pair in pairs])
    probes, metrics = ({run: list(read_lines(Path(paths.rows(run)[i]))) for run in runs} for i in (0, 1))
    summaries, contrasts = [], []
    for claim in claims:
        rows = evaluate(claim, scores, probes, metrics)
        table = pd.read_csv(root / "config" / "reference" / claim["reference"]) if claim["reference"] else None
        summaries.append({**summarise(claim, rows, scale), **published(claim, table)})
        contrasts += rows
    for path, made in zip(out, (summaries, contrasts), strict=True):
        publish(path, pd.DataFrame(made).to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

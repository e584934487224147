"""Stage: claims. The contrasts of each claim of a paper at one scale, with intervals, and its verdict."""

import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import stage_options
from rlvr.claims import mechanism_table, mechanisms, placebos
from rlvr.claims.contrasts import QUARTER, needs
from rlvr.claims.verdicts import (
    AT_BOUND,
    BY_PART,
    IDENTICAL,
    INCONCLUSIVE,
    JUDGED,
    NOT_COMPARABLE,
    NOT_EXERCISED,
    NOT_RUN,
    OTHER_RATES,
    REPRODUCED,
    SAME,
    UNDECIDED,
    UNJUDGED,
    WORST_FIRST,
    Rule,
    by_parts,
    of_stand_ins,
    p_of_claim,
    together,
    verdict_of,
)
from rlvr.config.paths import Paths
from rlvr.files import publish, read_json, read_lines
from rlvr.items import kinds
from rlvr.items.contrast import (
    ClaimSpec,
    ContrastSpec,
    Estimate,
    Evidence,
    NotComparable,
    PublishedContrast,
    PublishedTerm,
)
from rlvr.statistics.references import Reference
from rlvr.statistics.scores import read_all

WITHHELD = {REPRODUCED: INCONCLUSIVE, SAME: UNDECIDED}  # where a placebo is not beaten
HOLDS, FAILS, SILENT = "holds in its own table", "does not hold in its own table", "no published numbers"
SHOWN = (
    "paper",
    "short",
    "claim",
    "says",
    "place",
    "of",
    "about",
    "over",
    "effort",
    "predicate",
    "threshold",
    "no_effect",
    "size",
)
ESTIMATED = ("low", "high", "low_of_all", "high_of_all", "p", "p_of_all", "p_equal", "seeds", "problems", "unit")
DIGITS = 5  # of what is measured in training
ROUNDED = 1e-9  # equal printed values are a tie
BOUNDS = (0.0, 100.0)  # of printed values
FACTOR = 1.1  # of learning rates that are still alike


def evaluate(claim: ClaimSpec, inputs: Evidence, reference: Reference | None = None) -> list[dict[str, Any]]:
    """One row per contrast: estimate, interval, verdict. Raises RecordError where scores cover different problems.

    `reference` is the paper's table: on the paper's own models a practical size is at most a quarter of its difference.
    """
    run = [contrast for contrast in claim.contrasts if contrast.terms]
    folder, name = claim.kind
    kind = kinds(folder).load(name).claims
    assert kind is not None, claim.over
    known = {(one.says, *one.of): value for one, value in printed_values(claim, reference)}
    rules = [rule_of(claim, one, known.get((one.says, one.model, one.benchmark))) for one in run]

    def estimates(claim: ClaimSpec) -> Iterator[Estimate | NotComparable]:
        """Of each contrast with its own margin: the chance of no practical difference and a bound depend on it."""
        if not claim.directional:
            return iter(kind.estimates(run, claim, inputs))
        by_margin = {
            margin: kind.estimates(run, claim.model_copy(update={"margin": margin}), inputs)
            for margin in {rule.margin for rule in rules}
        }
        return (by_margin[rule.margin][i] for i, rule in enumerate(rules))

    found, of_run = estimates(claim), iter(rules)
    by_variant = [estimates(one) for one in (kind.variants(claim) if run else [])]
    rows = []
    for contrast in claim.contrasts:
        row: dict[str, Any] = {
            **claim.model_dump(include={"paper", "claim", "effort"}),
            **contrast.model_dump(include={"says", "model", "stand_in", "benchmark", "data"}),
        }
        if not contrast.terms:
            rows.append({**row, "verdict": NOT_RUN})
            continue
        estimate, rule, terms = next(found), next(of_run), contrast.terms
        if claim.own_models and contrast.stand_in != contrast.model:
            estimate = NotComparable("a level of the paper's own models and data")
        others = [next(estimates) for estimates in by_variant]
        row["policies"] = " ".join(contrast.policies)
        if isinstance(estimate, NotComparable):
            rows.append({**row, "verdict": NOT_COMPARABLE, "reason": estimate.reason})
            continue
        numbers = {"estimate": estimate.value, **{name: getattr(estimate, name) for name in ESTIMATED}}
        rates = dict.fromkeys(f"{t.label} {t.learning_rate:.2g}" for t in terms if t.learning_rate is not None)
        verdicts = [
            verdict_of(one.of_several if claim.at_least else one, rule)
            for one in (estimate, *others)
            if isinstance(one, Estimate)
        ]
        verdict = OTHER_RATES if _at_other_rates(contrast) else by_parts(verdicts)
        reason = _reason(verdict, estimate, verdicts[1:])
        rows.append({**row, "verdict": verdict, "reason": reason, **numbers, "learning_rates": ", ".join(rates)})
    return rows


def _reason(verdict: str, estimate: Estimate, others: list[str]) -> str:
    """Why a contrast was not judged, or depends on the part of training; empty for all other verdicts."""
    return {
        AT_BOUND: estimate.at_bound or f"there is room for {estimate.room:.1f} points, less than is claimed",
        IDENTICAL: "the results are equal to the last bit",
        OTHER_RATES: "the stand-ins train at different learning rates",
        BY_PART: f"other parts: {', '.join(others)}",
    }.get(verdict, "")


def rule_of(claim: ClaimSpec, contrast: ContrastSpec, published: float | None) -> Rule:
    """What the contrast is held against; `published` is the paper's own value of it."""
    margin = claim.margin if claim.directional else 0.0
    if published is not None and contrast.stand_in == contrast.model and published > claim.no_effect:
        margin = min(margin, QUARTER * (published - claim.no_effect))
    return Rule(claim.bound, claim.size, claim.no_effect, margin, claim.near)


def _at_other_rates(contrast: ContrastSpec) -> bool:
    """Whether stand-ins of its arms train at different learning rates.

    A paper may set each method's rate so that eta max|A| is equal. AdamW divides by the gradient's size, so that the
    rate sets the size of a step. On a paper's own models a claim is of the paper's own rates, and arms that differ in
    nothing else are there to compare rates. At equal pass@1 the size of steps is taken out.
    """
    known = [term.learning_rate for term in contrast.terms if term.learning_rate is not None]
    compared = contrast.stand_in != contrast.model and len({term.weight > 0 for term in contrast.terms}) > 1
    compared = compared and not contrast.of_rates and not contrast.curve
    return compared and bool(known) and max(known) > FACTOR * min(known)


# ---- the paper's numbers -------------------------------------------------------------------------


def published(claim: ClaimSpec, reference: Reference | None) -> dict[str, Any]:
    """Whether the claim holds in the paper's table, by contrasts of published values without intervals.

    A size is compared as it is rounded in the paper. Where all values are 0, or all are 100, there is no contrast.
    """
    margins = printed_values(claim, reference)
    if not margins:
        return {"published": SILENT, "published_cells": "", "published_exceptions": ""}
    failures = [(contrast, total) for contrast, total in margins if not _holds(claim, total)]
    words = [f"{_named(one)}{one.says} = {total:+.1f}" for one, total in failures]
    return {
        "published": FAILS if len(failures) > len(margins) - (claim.at_least or len(margins)) else HOLDS,
        "published_cells": f"{len(margins) - len(failures)} of {len(margins)}",
        "published_exceptions": "; ".join(words),
    }


def _named(contrast: PublishedContrast) -> str:
    return f"{contrast.model}, {contrast.benchmark}: " if contrast.terms else ""


def printed_values(claim: ClaimSpec, reference: Reference | None) -> list[tuple[PublishedContrast, float]]:
    """The contrasts of the paper's table whose values it gives, each with its value."""
    found = [(contrast, contrast.value) for contrast in claim.published if contrast.value is not None]
    for contrast in claim.published if reference is not None else ():
        values = [_published_value(reference, contrast, term) for term in contrast.terms]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and not (len(known) > 1 and set(known) in ({BOUNDS[0]}, {BOUNDS[1]})):
            found.append((contrast, float(sum(t.weight * v for t, v in zip(contrast.terms, known, strict=True)))))
    return found


def _holds(claim: ClaimSpec, total: float) -> bool:
    if claim.near:
        return abs(total) <= claim.bound + ROUNDED
    if claim.size is None:
        return total > claim.bound + ROUNDED
    digits = max(0, -int(Decimal(str(claim.size)).normalize().as_tuple().exponent))
    return round(total + ROUNDED, digits) >= claim.size


def _published_value(reference: Reference | None, contrast: PublishedContrast, term: PublishedTerm) -> float | None:
    if reference is None or term.hard:
        return None
    return reference.value(contrast.model, term.method, term.benchmark, term.k)["published"]


# ---- the row of a claim --------------------------------------------------------------------------


def summarise(claim: ClaimSpec, rows: list[dict[str, Any]], scale: str, unmet: Sequence[str] = ()) -> dict[str, Any]:
    """The row of a claim: its verdict, and the contrast that decides it.

    That is the one with the worst verdict, an opposite direction before a small size, and then the smallest margin.
    Where criteria of its arms are `unmet`, the claim is not exercised: it is not tested, and keeps its numbers.
    """
    judged = [row for row in rows if row["verdict"] not in UNJUDGED]
    near = claim.near

    def rank(row: dict[str, Any]) -> tuple[int, float]:
        margin = -abs(row["estimate"]) if near else row["estimate"]
        return WORST_FIRST.index(of_stand_ins(row["verdict"], row["high_of_all"], near, claim.no_effect)), margin

    place = max(0, len(judged) - claim.at_least) if claim.at_least else 0
    decisive = sorted(judged, key=rank)[place] if judged else {}
    verdict = together([row["verdict"] for row in rows], claim.at_least)
    stand_ins = any(row["stand_in"] != row["model"] for row in rows)
    reasons = dict.fromkeys(row["reason"] for row in rows if row["verdict"] != NOT_RUN and row["reason"])
    exercised = not unmet or verdict == NOT_RUN
    words = of_stand_ins(verdict, decisive.get("high_of_all", math.nan), near, claim.no_effect)
    return {
        "scale": scale,
        **claim.model_dump(include=set(SHOWN)),
        "verdict": NOT_EXERCISED if not exercised else words if stand_ins else verdict,
        "contrasts": len(rows),
        "run": len(judged),
        **{f"{name}_contrasts": sum(row["verdict"] == name for row in rows) for name in JUDGED},
        "not_comparable_contrasts": sum(row["verdict"] in UNJUDGED and row["verdict"] != NOT_RUN for row in rows),
        "reason": "; ".join(reasons if exercised else unmet),
        "deciding": f"{decisive['says']} {_where(decisive)}" if decisive else "",
        **{key: decisive.get(key) for key in ("model", "stand_in", "benchmark", "data", "estimate", "low", "high")},
        **{key: decisive.get(key) for key in ("seeds", "problems", "low_of_all", "high_of_all", "unit")},
        "learning_rates": decisive.get("learning_rates"),
        "p": p_of_claim([_estimate_of(row) for row in judged], claim.at_least) if exercised else math.nan,
    }


def beside_placebos(
    claim: ClaimSpec, row: dict[str, Any], inputs: Evidence
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a claim that holds only if its method is above its placebos, by whatever size, and their contrasts."""
    if not claim.placebos:
        return row, []
    changes = {"contrasts": claim.placebos, "placebos": (), "published": (), "size": None, "threshold": 0.0}
    rows = evaluate(claim.model_copy(update={**changes, "no_effect": 0.0, "at_least": None}), inputs)
    with_room = [one for one in rows if one["verdict"] != AT_BOUND] or rows  # at a bound nothing can be above
    return placebos.vetoed(row, with_room, WITHHELD), [{**one, "placebo": True} for one in rows]


def _where(row: dict[str, Any]) -> str:
    """What was run, and in whose place: "with qwen2-chain on chain-easy, for MATH-500 with Qwen2.5-Math-7B"."""
    pairs = [(row["stand_in"], row["model"], "with"), (row["data"], row["benchmark"], "on")]
    run = " ".join(f"{word} {here}" for here, _, word in pairs if here)
    meant = [of_paper for here, of_paper, _ in pairs if here and of_paper and here != of_paper]
    return run + (f", in place of {' and '.join(meant)}" if meant else "")


def _estimate_of(row: dict[str, Any]) -> Estimate:
    return Estimate(value=row["estimate"], **{name: row[name] for name in ESTIMATED})


def evidence(claims: list[ClaimSpec], paths: Paths) -> Evidence:
    """What claims read of a results folder."""
    needed = needs(claims)
    scores = read_all([Path(paths.scores(*pair)) for pair in needed.scores])
    diversity = read_all([Path(paths.diversity(*pair)) for pair in needed.diversity])
    probes, metrics = ({run: _rows(paths.rows(run)[i]) for run in needed.runs} for i in (0, 1))
    measured = {name: {run: _rows(paths.measured(name, run)) for run in runs} for name, runs in needed.measured.items()}
    return Evidence(scores, probes, metrics, diversity, measured)


def _rows(file: str) -> list[dict[str, Any]]:
    return [{name: rounded(value) for name, value in row.items()} for row in read_lines(Path(file))]


def rounded(value: Any) -> Any:
    """A value, or those in a list or dictionary, with `DIGITS` significant digits: a snapshot keeps as many."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def judged(
    claims: list[ClaimSpec], inputs: Evidence, references: Path, scale: str, criteria: pd.DataFrame | None = None
) -> tuple[str, str]:
    """The claims with their verdicts, and their contrasts, both as CSV.

    Published tables are below `references`; `criteria` are the judged ones of the paper's mechanism.
    """
    summaries, contrasts, known = [], [], set[str]()
    for claim in claims:
        table = Reference(pd.read_csv(references / claim.reference)) if claim.reference else None
        rows = evaluate(claim, inputs, table)
        unmet: list[str] = []
        if criteria is not None and claim.tests_a_method:
            unmet = mechanisms.unmet(criteria, claim.acting, {one.model for one in claim.contrasts})
        summary, of_placebos = beside_placebos(claim, summarise(claim, rows, scale, unmet), inputs)
        summaries.append({**summary, **published(claim, table), **_distinct(claim, [] if unmet else rows, known)})
        contrasts += rows + of_placebos
    first, second = (
        pd.DataFrame(rows).to_csv(index=False, float_format="%.6g", lineterminator="\n")
        for rows in (summaries, contrasts)
    )
    return first, second


def _distinct(claim: ClaimSpec, rows: Sequence[dict[str, Any]], known: set[str]) -> dict[str, int]:
    """How many judged contrasts of a claim no earlier claim of its kind has, and how many of these differ from none.

    A contrast is one by its runs, problems, k, measure and effort; the other sign is the same. It differs where its
    interval leaves out the value of no effect. Adds to `known`.
    """
    new, decided = 0, 0
    for contrast, row in zip(claim.contrasts, rows, strict=bool(rows)):
        read = ([term.k, term.levels, term.evaluation, term.policies, term.weight] for term in contrast.terms)
        terms = sorted(read, key=lambda term: json.dumps(term[:-1]))
        sign = math.copysign(1.0, terms[0][-1]) if terms else 1.0
        of = [[*others, sign * weight] for *others, weight in terms]
        kind = [claim.about, claim.of == "paper", claim.effort, claim.kind, claim.measure, claim.options]
        name = json.dumps([*kind, contrast.model, of])
        if row["verdict"] not in UNJUDGED and name not in known:
            known.add(name)
            new, decided = new + 1, decided + (not row["low"] <= claim.no_effect <= row["high"])
    return {"distinct": new, "distinct_decided": decided}


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[list[Path], typer.Option(help="CSV of claims, and CSV of their contrasts.")],
    criteria: Annotated[Path | None, typer.Option(help="CSV of the mechanism's criteria.")] = None,
) -> None:
    """Evaluate the claims of a paper at one scale, from the scores and curves in the results folder."""
    content = read_json(spec)
    claims = [ClaimSpec.model_validate(claim) for claim in content["claims"]]
    inputs = evidence(claims, Paths(str(results), content["scale"]))
    mechanism = None if criteria is None else mechanism_table.read(criteria)
    texts = judged(claims, inputs, Path(content["references"]), content["scale"], mechanism)
    for path, text in zip(out, texts, strict=True):
        publish(path, text)


if __name__ == "__main__":
    typer.run(main)

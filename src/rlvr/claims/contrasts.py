"""What a paper claims, as contrasts of cells that a plan trains and evaluates. No numbers here: they come later.

A contrast is a weighted sum of terms, each the score of an arm on a benchmark (at one k, on all problems or those of
its hard levels), or a measure of an arm's training. A claim holds where each of its contrasts does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from rlvr.config import kinds
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Cell, Item, PaperPlan, Plan, asked_for
from rlvr.config.schema.items import Claim, Figure, Table

PAPER, MATCHED = "paper's setting", "matched effort"
VERDICTS = REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_RUN = "reproduced", "contradicted", "inconclusive", "not run"


@dataclass(frozen=True)
class Term:
    """A share of a contrast."""

    weight: float
    arm: str
    k: int | None = None
    hard: bool = False


@dataclass(frozen=True)
class Contrast:
    """One thing that a claim says: a sum of terms on a model (and a benchmark) is above its threshold, or near 0."""

    says: str
    model: str
    benchmark: str | None
    terms: tuple[Term, ...]


def check_all(plan: Plan, made: PaperPlan, place: str) -> None:
    """Raises ConfigError where a paper's claims, which stand at `place`, are not claims about what it plans."""
    named = set()
    for claim in made.paper.claims:
        if claim.name in named:
            raise ConfigError(f"{place}.{claim.name}: another claim has this name too")
        named.add(claim.name)
        check(claim, plan, made, f"{place}.{claim.name}")


def check(claim: Claim, plan: Plan, made: PaperPlan, place: str) -> None:
    """Raises ConfigError where a claim speaks of what its table or figure has not."""
    own = {**made.paper.tables, **made.paper.figures}  # what is at matched effort follows by itself
    look_up(own, claim.over, "table or figure", f"{place}.over")
    item = made.item(claim.over)
    if not item.cells:
        raise ConfigError(f"{place}.over: {claim.over} has no arms of its own; name the table that they are in")
    for model in claim.models:
        look_up(dict.fromkeys(cell.model for cell in item.cells), model, "model", f"{place}.models")
    if isinstance(item.content, Figure):
        _check_curves(claim, item.content, place)
    else:
        _check_scores(claim, plan, made.paper.tables[claim.over], item, place)
    kinds.check_claim(claim, item.content, place)
    said = contrasts(claim, item)
    arms = dict.fromkeys(cell.row.arm for cell in item.cells)
    for arm in dict.fromkeys(term.arm for contrast in said for term in contrast.terms):
        look_up(arms, arm, "arm", f"{place} (over {claim.over})")
    if not said:
        raise ConfigError(f"{place}: says nothing of {claim.over}: no model, benchmark or k is left")


def _check_curves(claim: Claim, figure: Figure, place: str) -> None:
    if not figure.measures:
        raise ConfigError(f"{place}.over: {claim.over} has no curves of measures (kind over_steps)")
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: a claim over curves names one of {', '.join(figure.measures)}")
    look_up(dict.fromkeys(figure.measures), claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "within", "ordering"):
        raise ConfigError(f"{place}.predicate: curves have no k and no hard levels to be {claim.predicate!r} over")


def _check_scores(claim: Claim, plan: Plan, table: Table, item: Item, place: str) -> None:
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: {claim.over} is a table; its scores are pass@k")
    if table.kind == "collapse":
        if claim.predicate not in ("greater", "within", "ordering"):
            raise ConfigError(f"{place}.predicate: a share of runs has no k to be {claim.predicate!r} over")
        if claim.weights:
            raise ConfigError(f"{place}.weights: shares of runs are compared two by two, by left and right")
        return
    if not table.k:
        raise ConfigError(f"{place}.over: {claim.over} has no pass@k")
    own = [str(name) for name in table.benchmarks or [table.benchmark]]
    for benchmark in claim.benchmarks:
        look_up(dict.fromkeys(own), benchmark, "benchmark", f"{place}.benchmarks")
    if not set(claim.k) <= set(table.k):
        beyond = ", ".join(str(k) for k in claim.k if k not in table.k)
        raise ConfigError(f"{place}.k: {claim.over} has no k = {beyond}")
    wanted = [own.index(benchmark) for benchmark in claim.benchmarks or own]
    sets = [plan.evaluations[ids[i]].data for ids in item.evaluations.values() for i in wanted]
    without = sorted({data.name for data in sets if not data.about.hard_levels})
    if claim.predicate == "harder" and (without or table.hard_levels):
        of_sets = f"about.hard_levels of {', '.join(without)} (config/datasets.yaml)"
        raise ConfigError(f"{place}.predicate: 'harder' needs {of_sets if without else 'a table of all levels'}")


def contrasts(claim: Claim, item: Item, ks: list[int] | None = None) -> list[Contrast]:
    """Every contrast of a claim: over models, benchmarks and k of its table (or `ks`), or the models of its figure."""
    content = item.content
    models = [m for m in dict.fromkeys(cell.model for cell in item.cells) if not claim.models or m in claim.models]
    if isinstance(content, Figure):
        return [
            Contrast(f"{text}, {claim.measure}", model, None, tuple(Term(w, arm) for arm, w in weights.items()))
            for model in models
            for text, weights in _sums(claim, item)
        ]
    assert isinstance(content, Table)
    if content.kind == "collapse":
        return [
            Contrast(f"share of collapsed runs, {text}", model, None, tuple(Term(w, arm) for arm, w in weights.items()))
            for model in models
            for text, weights in _sums(claim, item)
        ]
    own = content.benchmarks or [content.benchmark]
    benchmarks = [name for name in own if not claim.benchmarks or name in claim.benchmarks]
    return [
        Contrast(text, model, benchmark, terms)
        for model, benchmark in product(models, benchmarks)
        for text, terms in _of_scores(claim, item, ks or content.k)
    ]


def _of_scores(claim: Claim, item: Item, ks: list[int]) -> Iterator[tuple[str, tuple[Term, ...]]]:
    wanted = [k for k in claim.k if k in ks] or ([] if claim.k else ks)
    largest = claim.k and max(claim.k) > max(ks)
    if claim.predicate in ("crossing", "slope"):
        first, last = claim.k[0], max(ks) if largest else claim.k[-1]
        for text, weights in _sums(claim, item):
            low, high = (tuple(Term(w, arm, k) for arm, w in weights.items()) for k in (first, last))
            back = tuple(Term(-term.weight, term.arm, term.k) for term in low)
            if claim.predicate == "slope":
                yield f"{text}, @{last} against @{first}", high + back
            else:
                yield f"reversed: {text} @{first}", back
                yield f"{text} @{last}", high
        return
    if largest and max(ks) not in wanted:
        wanted.append(max(ks))  # the largest k that this scale has stands for what is beyond it
    for k, (text, weights) in product(wanted, _sums(claim, item)):
        terms = tuple(Term(w, arm, k) for arm, w in weights.items())
        if claim.predicate == "harder":
            hard = tuple(Term(term.weight, term.arm, k, True) for term in terms)
            yield f"{text} @{k}, hard levels against all", hard + tuple(Term(-t.weight, t.arm, k) for t in terms)
        else:
            yield f"{text} @{k}", terms


def _sums(claim: Claim, item: Item) -> list[tuple[str, dict[str, float]]]:
    """The weighted sums of arms that a claim is about, in words and as weights."""
    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    if claim.weights:
        parts = [f"{'−' if w < 0 else '+'} {abs(w):g} {labels.get(arm, arm)}" for arm, w in claim.weights.items()]
        return [(" ".join(parts).removeprefix("+ "), claim.weights)]
    pairs = list(pairwise(claim.arms)) or [(str(claim.left), right) for right in claim.right]
    return [(f"{labels.get(a, a)} − {labels.get(b, b)}", {a: 1.0, b: -1.0}) for a, b in pairs]


# ---- what a scale makes of them ------------------------------------------------------------------


def layout(plan: Plan, paper: str) -> list[dict[str, Any]]:
    """Every claim of a paper at the paper's setting and, where its arms have learning rates to choose from, at matched
    effort: plain data for `rlvr.claims.evaluate`. Contrasts that this scale does not run, or of arms that have no
    rates to choose from, have no terms."""
    made = plan.papers[paper]
    within, settings = _within_reach(plan, paper), next(iter(made.settings.values()), None)
    assert settings is not None, "a paper with claims has models"
    found = []
    for claim in made.paper.claims:
        item = made.item(claim.over)
        for effort in [PAPER, *([MATCHED] if _matched(made, item) else [])]:
            described = [_described(plan, made, claim, item, contrast, effort) for contrast in contrasts(claim, item)]
            if effort == MATCHED and not any(one["terms"] for one in described):
                continue
            for one in described:
                if not within(one["terms"]):
                    one["terms"] = []
            found.append(
                {
                    **{"paper": paper, "short": made.paper.short, "claim": claim.name, "says": claim.says},
                    **{"place": claim.place, "over": claim.over, "effort": effort, "predicate": claim.predicate},
                    **{"threshold": claim.threshold, "measure": claim.measure, "during": list(claim.during)},
                    **(_published(made, claim, item) if effort == PAPER else {"reference": None, "published": []}),
                    "contrasts": described,
                    "collapse": settings.collapse.model_dump(mode="json") if item.content.kind == "collapse" else None,
                    "statistics": settings.statistics.model_dump(mode="json"),
                }
            )
    return found


def _within_reach(plan: Plan, paper: str) -> Any:
    """Whether what a contrast needs is made for the items that this scale makes of the paper anyway."""
    made = plan.papers[paper]
    items = [made.item(name) for name in asked_for(plan, paper)]
    pairs = {pair for item in items for pair in item.scored()}
    runs = {policy for item in items for policy in item.policies()}

    def reached(terms: list[dict[str, Any]]) -> bool:
        for term in terms:
            policies = [policy for rate in term["rates"] for policy in rate["policies"]]
            if term["evaluation"] is None and not set(policies) <= runs:
                return False
            if term["evaluation"] is not None and not {(p, term["evaluation"]) for p in policies} <= pairs:
                return False
        return True

    return reached


def _matched(made: PaperPlan, item: Item) -> Item | None:
    return made.tables.get(f"{item.name}_matched")


def _described(
    plan: Plan, made: PaperPlan, claim: Claim, item: Item, contrast: Contrast, effort: str
) -> dict[str, Any]:
    """A contrast with the policies and evaluations behind it; no terms where an arm has no rates to choose from."""
    source = item if effort == PAPER else _matched(made, item)
    assert source is not None
    cells = {cell.row.arm: cell for cell in source.cells if cell.model == contrast.model}
    known = all(term.arm in cells for term in contrast.terms)
    evaluation, levels = _evaluation(plan, item, contrast)
    hard = isinstance(item.content, Table) and item.content.hard_levels
    return {
        "says": contrast.says,
        "model": contrast.model,
        "stand_in": plan.stand_ins.get(contrast.model, contrast.model),
        "benchmark": contrast.benchmark,
        "terms": [
            {
                "weight": term.weight,
                "arm": term.arm,
                "label": cells[term.arm].row.label,
                "k": term.k,
                "levels": levels if term.hard or hard else None,
                "evaluation": evaluation,
                "rates": _rates(cells[term.arm]),
            }
            for term in (contrast.terms if known else ())
        ],
    }


def _published(made: PaperPlan, claim: Claim, item: Item) -> dict[str, Any]:
    """The contrasts as the paper's own table has them: its names of models, benchmarks and methods, all of its k."""
    content = item.content
    if not isinstance(content, Table) or content.reference is None or content.hard_levels:
        return {"reference": None, "published": []}
    name, methods = made.paper.published_name, {cell.row.arm: cell.row.published for cell in item.cells}
    described = [
        {
            "says": contrast.says,
            "model": name(contrast.model),
            "benchmark": name(str(contrast.benchmark)),
            "terms": [
                {"weight": term.weight, "k": term.k, "hard": term.hard, "method": methods[term.arm]}
                for term in contrast.terms
            ],
        }
        for contrast in contrasts(claim, item, made.paper.tables[item.name].k)
    ]
    return {"reference": content.reference, "published": described}


def _evaluation(plan: Plan, item: Item, contrast: Contrast) -> tuple[str | None, list[str]]:
    if contrast.benchmark is None or not isinstance(item.content, Table) or not item.evaluations:
        return None, []
    several = item.content.benchmarks or [str(item.content.benchmark)]
    evaluation = item.evaluations[contrast.model][several.index(contrast.benchmark)]
    return evaluation, plan.evaluations[evaluation].data.about.hard_levels


def _rates(cell: Cell) -> list[dict[str, Any]]:
    """The learning rates to choose from; a single one at the paper's setting."""
    rates = cell.rates or ((cell.learning_rate, cell.policies),)
    return [{"learning_rate": rate, "policies": [policy for policy, _ in pairs]} for rate, pairs in rates]


def needs(claims: list[dict[str, Any]]) -> tuple[list[tuple[str, str]], list[str]]:
    """The (policy, evaluation) pairs whose scores, and the runs whose probes and metrics, some claims read."""
    pairs, runs = {}, {}
    for claim in claims:
        for contrast in claim["contrasts"]:
            for term in contrast["terms"]:
                policies = [policy for rate in term["rates"] for policy in rate["policies"]]
                if term["evaluation"] is None or len(term["rates"]) > 1:
                    runs.update(dict.fromkeys(policies))
                if term["evaluation"] is not None:
                    pairs.update(dict.fromkeys((policy, term["evaluation"]) for policy in policies))
    return list(pairs), list(runs)

"""What a paper claims, as contrasts of cells that a plan trains and evaluates. No numbers here: they come later.

A contrast is a weighted sum of terms, each the score of an arm on a benchmark (at one k, on all problems or those of
its hard levels), or a measure of an arm's training. A claim holds where each of its contrasts does.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from rlvr import items
from rlvr.claims._contrast import Contrast
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Cell, Item, PaperPlan, Plan, asked_for
from rlvr.config.schema.items import Claim

PAPER, MATCHED = "paper's setting", "matched effort"
VERDICTS = REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_RUN = "reproduced", "contradicted", "inconclusive", "not run"


def check_all(plan: Plan, planned: PaperPlan, place: str) -> None:
    """Raises ConfigError where a paper's claims, which stand at `place`, are not claims about what it plans."""
    named = set()
    for claim in planned.paper.claims:
        if claim.name in named:
            raise ConfigError(f"{place}.{claim.name}: another claim has this name too")
        named.add(claim.name)
        check(claim, plan, planned, f"{place}.{claim.name}")


def check(claim: Claim, plan: Plan, planned: PaperPlan, place: str) -> None:
    """Raises ConfigError where a claim speaks of what its table or figure has not."""
    own = {**planned.paper.tables, **planned.paper.figures}  # what is at matched effort follows by itself
    config = look_up(own, claim.over, "table or figure", f"{place}.over")
    item = planned.item(claim.over)
    if not item.cells:
        raise ConfigError(f"{place}.over: {claim.over} has no arms of its own; name the table that they are in")
    for model in claim.models:
        look_up(dict.fromkeys(cell.model for cell in item.cells), model, "model", f"{place}.models")
    module = _module(item)
    if module is None:
        raise ConfigError(f"{place}.over: {claim.over} has no pass@k and no measure that a claim can be over")
    module.check(claim, item, config, plan, place)
    for key in module.IGNORED:
        if key in claim.model_fields_set and getattr(claim, key) != Claim.model_fields[key].default:
            raise ConfigError(f"{place}.{key}: a claim over {module.WHAT} has no `{key}`; {claim.over} is one")
    every = contrasts(claim, item)
    arms = dict.fromkeys(cell.row.arm for cell in item.cells)
    for arm in dict.fromkeys(term.arm for contrast in every for term in contrast.terms):
        look_up(arms, arm, "arm", f"{place} (over {claim.over})")
    if not every:
        raise ConfigError(f"{place}: says nothing of {claim.over}: no model, benchmark or k is left")


def _module(item: Item) -> ModuleType | None:
    """What contrasts over an item's cells are made of: the module of this folder that its kind names."""
    name = items.hook(items.load(item.folder, item.content.kind), "CLAIMS")
    return None if name is None else importlib.import_module(f"rlvr.claims.{name}")


def contrasts(claim: Claim, item: Item, ks: list[int] | None = None) -> list[Contrast]:
    """Every contrast of a claim: over the models of its item, and the benchmarks and k (or `ks`) of a table."""
    module = _module(item)
    assert module is not None, claim.over
    return module.contrasts(claim, item, ks or getattr(item.content, "k", []))


# ---- what a scale makes of them ------------------------------------------------------------------


def layout(plan: Plan, paper: str) -> list[dict[str, Any]]:
    """Every claim of a paper at the paper's setting and, where its arms have learning rates to choose from, at matched
    effort: plain data for `rlvr.claims.evaluate`. Contrasts that this scale does not run, or of arms that have no
    rates to choose from, have no terms."""
    planned = plan.papers[paper]
    within, settings = _within_reach(plan, paper), next(iter(planned.settings.values()), None)
    assert settings is not None, "a paper with claims has models"
    found = []
    for claim in planned.paper.claims:
        item = planned.item(claim.over)
        for effort in [PAPER, *([MATCHED] if _matched(planned, item) else [])]:
            described = [
                _described(plan, planned, claim, item, contrast, effort) for contrast in contrasts(claim, item)
            ]
            if effort == MATCHED and not any(one["terms"] for one in described):
                continue
            for one in described:
                if not within(one["terms"]):
                    one["terms"] = []
            found.append(
                {
                    **{"paper": paper, "short": planned.paper.short, "claim": claim.name, "says": claim.says},
                    **{"place": claim.place, "over": claim.over, "effort": effort, "predicate": claim.predicate},
                    **{"threshold": claim.threshold, "measure": claim.measure, "during": list(claim.during)},
                    **(_published(planned, claim, item) if effort == PAPER else {"reference": None, "published": []}),
                    "contrasts": described,
                    "module": getattr(_module(item), "__name__", None),
                    **getattr(_module(item), "told", lambda settings: {})(settings),
                    "statistics": settings.statistics.model_dump(mode="json"),
                }
            )
    return found


def _within_reach(plan: Plan, paper: str) -> Any:
    """Whether what a contrast needs is made for the items that this scale makes of the paper anyway."""
    planned = plan.papers[paper]
    asked = [planned.item(name) for name in asked_for(plan, paper)]
    pairs = {pair for item in asked for pair in item.scored()}
    runs = {policy for item in asked for policy in item.policies()}

    def reached(terms: list[dict[str, Any]]) -> bool:
        for term in terms:
            policies = [policy for rate in term["rates"] for policy in rate["policies"]]
            if term["evaluation"] is None and not set(policies) <= runs:
                return False
            if term["evaluation"] is not None and not {(p, term["evaluation"]) for p in policies} <= pairs:
                return False
        return True

    return reached


def _matched(planned: PaperPlan, item: Item) -> Item | None:
    return planned.tables.get(f"{item.name}_matched")


def _described(
    plan: Plan, planned: PaperPlan, claim: Claim, item: Item, contrast: Contrast, effort: str
) -> dict[str, Any]:
    """A contrast with the policies and evaluations behind it; no terms where an arm has no rates to choose from."""
    source = item if effort == PAPER else _matched(planned, item)
    assert source is not None
    cells = {cell.row.arm: cell for cell in source.cells if cell.model == contrast.model}
    known = all(term.arm in cells for term in contrast.terms)
    evaluation, levels = _evaluation(plan, item, contrast)
    hard = getattr(item.content, "hard_levels", False)
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


def _published(planned: PaperPlan, claim: Claim, item: Item) -> dict[str, Any]:
    """The contrasts as the paper's own table has them: its names of models, benchmarks and methods, all of its k."""
    reference = getattr(item.content, "reference", None)
    if reference is None or getattr(item.content, "hard_levels", False):
        return {"reference": None, "published": []}
    name, methods = planned.paper.published_name, {cell.row.arm: cell.row.published for cell in item.cells}
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
        for contrast in contrasts(claim, item, planned.paper.tables[item.name].k)  # type: ignore[attr-defined]
    ]
    return {"reference": reference, "published": described}


def _evaluation(plan: Plan, item: Item, contrast: Contrast) -> tuple[str | None, list[str]]:
    if contrast.benchmark is None or not item.evaluations:
        return None, []
    evaluation = item.evaluations[contrast.model][item.benchmarks.index(contrast.benchmark)]
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

"""The claims of a paper as contrasts of planned cells; `rlvr.claims.evaluate` computes the numbers.

A contrast is a weighted sum of terms. A term is the score of an arm on a benchmark (at one k, on all problems or those
of the hard levels), or a measure of an arm's training. A claim holds if all its contrasts hold.
"""

import importlib
import json
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from rlvr import items
from rlvr.claims._contrast import Contrast, Term
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import MEASURES, PROBE, WEIGHTS, curve
from rlvr.config.plan import Cell, Item, PaperPlan, Plan, asked_for
from rlvr.config.schema.items import Claim

PAPER, EQUAL = "paper's setting", "equal pass@1"
# Keys of a claim that some kinds of tables and figures alone can read: `READS` of the module of its kind.
OPTIONAL = ("benchmarks", "average", "k", "part", "during", "since", "each_checkpoint")
LEAST = 3  # points of a curve at equal pass@1: the base policy and two learning rates


def check_all(plan: Plan, planned: PaperPlan, place: str) -> None:
    """Raises ConfigError where a claim of a paper has no contrast in its plan. `place` is that of the claims."""
    names = set()
    for claim in planned.paper.claims:
        if claim.name in names:
            raise ConfigError(f"{place}.{claim.name}: another claim has this name too; rename one of them")
        names.add(claim.name)
        check(claim, plan, planned, f"{place}.{claim.name}")


def check(claim: Claim, plan: Plan, planned: PaperPlan, place: str) -> None:
    """Raises ConfigError where a claim names something that its table or figure lacks."""
    configs = {**planned.paper.tables, **planned.paper.figures}  # without those at equal pass@1
    config = look_up(configs, claim.over, "table or figure", f"{place}.over")
    item = planned.item(claim.over)
    if not item.cells:
        raise ConfigError(f"{place}.over: {claim.over} has no cells; name the table that has them")
    for model in claim.models:
        look_up(
            dict.fromkeys([*(cell.model for cell in item.cells), *item.shown_by]), model, "model", f"{place}.models"
        )
    module = _module(item)
    if module is None:
        raise ConfigError(f"{place}.over: {claim.over} has no pass@k and no measure for a claim; name another item")
    module.check(claim, item, config, plan, place)
    for key in OPTIONAL:
        if (
            key not in module.READS
            and key in claim.model_fields_set
            and getattr(claim, key) != Claim.model_fields[key].default
        ):
            raise ConfigError(f"{place}.{key}: remove this key: {claim.over} is {module.WHAT}")
    all_contrasts = contrasts(claim, item)
    arms = dict.fromkeys(cell.row.arm for cell in item.cells)
    for arm in dict.fromkeys(term.arm for contrast in all_contrasts for term in contrast.terms):
        look_up(arms, arm, "arm", f"{place} (over {claim.over})")
    if not all_contrasts:
        raise ConfigError(f"{place}: has no contrast over {claim.over}: no model, benchmark or k is left")


def _module(item: Item) -> ModuleType | None:
    """The module of this folder that computes contrasts of an item's cells: `CLAIMS` of its kind."""
    name = items.hook(items.load(item.folder, item.content.kind), "CLAIMS")
    return None if name is None else importlib.import_module(f"rlvr.claims.{name}")


def contrasts(claim: Claim, item: Item, ks: list[int] | None = None) -> list[Contrast]:
    """All contrasts of a claim, over the models of its item, and the benchmarks and k (or `ks`) of a table."""
    module = _module(item)
    assert module is not None, claim.over
    ks, parts = ks or getattr(item.content, "k", []), [claim]
    if claim.predicate == "slope":  # each later k against the first; the largest k of a scale may replace several
        parts = [claim.model_copy(update={"k": [claim.k[0], k]}) for k in claim.k[1:]]
    return list(dict.fromkeys(contrast for part in parts for contrast in module.contrasts(part, item, ks)))


# ---- layouts ------------------------------------------------------------------------------------


def layout(plan: Plan, paper: str, of: list[str] | None = None) -> list[dict[str, Any]]:
    """Every claim of a paper at the paper's setting and, where its arms have several learning rates, at equal pass@1:
    plain data for `rlvr.claims.evaluate`. Contrasts that this scale does not run have no terms; with some items (`of`),
    those that these do not run."""
    planned = plan.papers[paper]
    terms_of, settings = _within_reach(plan, paper, of), next(iter(planned.settings.values()), None)
    assert settings is not None, "a paper with claims has models"
    claims = []
    for claim in planned.paper.claims:
        item = planned.item(claim.over)
        for effort in [PAPER, *([EQUAL] if _matched(planned, item) else [])]:
            every = contrasts(claim, item)
            if effort == EQUAL:
                every = _at_equal_pass_1(every, claim, planned, item)
            parts = _once([_described(plan, planned, claim, item, contrast, effort) for contrast in every])
            if not parts:
                continue
            for part in parts:
                part["terms"] = terms_of(part)
            claims.append(
                {
                    **{"paper": paper, "short": planned.paper.short, "claim": claim.name, "says": claim.says},
                    **{"place": claim.place, "of": claim.of, "over": claim.over, "effort": effort},
                    **{"predicate": claim.predicate, "threshold": claim.threshold, "measure": claim.measure},
                    "during": list(claim.during),
                    **(_published(planned, claim, item) if effort == PAPER else {"reference": None, "published": []}),
                    "contrasts": parts,
                    "module": getattr(_module(item), "__name__", None),
                    **getattr(_module(item), "layout_keys", lambda *_: {})(claim, item, plan, settings),
                    "statistics": settings.statistics.model_dump(mode="json"),
                }
            )
    return claims


def _once(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Contrasts with equal terms as one, of all their benchmarks: a scale may put one set in the place of several."""
    found: dict[str, dict[str, Any]] = {}
    for i, part in enumerate(parts):
        key = json.dumps([part["model"], part["says"], part["terms"]]) if part["terms"] else str(i)
        first = found.get(key)
        found[key] = part if first is None else {**first, "benchmark": f"{first['benchmark']}, {part['benchmark']}"}
    return list(found.values())


def _within_reach(plan: Plan, paper: str, of: list[str] | None) -> Any:
    """A function from a contrast to its terms, as far as the runs and scores of some items, or of this scale, suffice.

    At equal pass@1 a term keeps the points of its curve that are there, three at least, or there are no terms.
    """
    planned = plan.papers[paper]
    planned_items = [planned.item(name) for name in of or asked_for(plan, paper)]
    pairs = {pair for item in planned_items for pair in item.scored()}
    runs = {policy for item in planned_items for policy in item.policies()}

    def there(policies: list[str], evaluation: str | None) -> bool:
        return set(policies) <= runs if evaluation is None else {(p, evaluation) for p in policies} <= pairs

    def terms_of(contrast: dict[str, Any]) -> list[dict[str, Any]]:
        terms = []
        for term in contrast["terms"]:
            rates = [rate for rate in term["rates"] if there(rate["policies"], term["evaluation"])]
            if len(rates) < min(LEAST, len(term["rates"])) or not there(contrast.get("at", []), term["evaluation"]):
                return []
            terms.append({**term, "rates": rates})
        return terms

    return terms_of


def _matched(planned: PaperPlan, item: Item) -> Item | None:
    """The companion of a table that shows its arms at equal pass@1."""
    companions = (table for table in planned.tables.values() if table.companion_of == item.name)
    return next((table for table in companions if any(cell.rates for cell in table.cells)), None)


def _at_equal_pass_1(every: list[Contrast], claim: Claim, planned: PaperPlan, item: Item) -> list[Contrast]:
    """The contrasts with a meaning at equal pass@1.

    The base policy stands at no other pass@1 than its own, at k = 1 all methods are equal, and a crossing joins two k.
    """
    matched = _matched(planned, item)
    assert matched is not None
    swept = {cell.row.arm for cell in matched.cells if cell.rates}
    return [
        contrast
        for contrast in (every if claim.predicate != "crossing" else [])
        if any(term.k != 1 for term in contrast.terms) and {term.arm for term in contrast.terms} <= swept
    ]


def _described(
    plan: Plan, planned: PaperPlan, claim: Claim, item: Item, contrast: Contrast, effort: str
) -> dict[str, Any]:
    """A contrast with its policies and evaluations; no terms where an arm has no cell.

    At equal pass@1 `at` are the baseline's policies, and each term has the seeds that all of them have.
    """
    source = item if effort == PAPER else _matched(planned, item)
    assert source is not None
    cells = {cell.row.arm: cell for cell in source.cells if cell.model == contrast.model}
    complete = all(term.arm in cells for term in contrast.terms)
    equal, seeds = {}, None
    if effort == EQUAL and complete:
        baseline = cells[source.content.compare_with]  # type: ignore[attr-defined]
        seeds = min(len(cell.policies) for cell in [baseline, *(cells[term.arm] for term in contrast.terms)])
        equal = {"at": [policy for policy, _ in baseline.policies[:seeds]], "at_label": baseline.row.label}
    found = {term: _evaluation(plan, item, contrast, term) for term in contrast.terms}
    sets = dict.fromkeys(plan.evaluations[name].data.name for name, _ in found.values() if name is not None)
    hard = getattr(item.content, "hard_levels", False)
    return {
        "says": contrast.says,
        "model": contrast.model,
        "stand_in": plan.stand_ins.get(contrast.model, contrast.model),
        "benchmark": contrast.benchmark,
        "data": ", ".join(sets) or _of_training(plan, claim, contrast, cells),
        **equal,
        "terms": [
            {
                "weight": term.weight,
                "arm": term.arm,
                "label": cells[term.arm].row.label,
                "k": term.k,
                "levels": found[term][1] if term.hard or hard else None,
                "evaluation": found[term][0],
                "rates": _rates(cells[term.arm], seeds),
            }
            for term in (contrast.terms if complete else ())
        ],
    }


def _published(planned: PaperPlan, claim: Claim, item: Item) -> dict[str, Any]:
    """The contrasts in the paper's table: with its names of models, benchmarks and methods, and all its k."""
    reference = getattr(item.content, "reference", None)
    if reference is None or getattr(item.content, "hard_levels", False):
        return {"reference": None, "published": []}
    columns = getattr(_module(item), "PUBLISHED", {})  # by measure, where the table is not of pass@k
    if columns and claim.measure not in columns:
        return {"reference": None, "published": []}
    column = columns.get(claim.measure, "{}")
    name, methods = planned.paper.published_name, {cell.row.arm: cell.row.published for cell in item.cells}
    parts = [
        {
            "says": contrast.says,
            "model": name(contrast.model),
            "benchmark": column.format(name(str(contrast.benchmark))),
            "terms": [
                {"weight": term.weight, "k": term.k, "hard": term.hard, "method": methods[term.arm]}
                | ({"benchmark": column.format(name(term.benchmark))} if term.benchmark else {})
                for term in contrast.terms
            ],
        }
        for contrast in contrasts(claim, item.in_all_blocks(), getattr(planned.paper.tables[item.name], "k", None))
    ]
    return {"reference": reference, "published": parts}


def _evaluation(plan: Plan, item: Item, contrast: Contrast, term: Term) -> tuple[str | None, list[str]]:
    benchmark = term.benchmark or contrast.benchmark
    if benchmark is None or not item.evaluations:
        return None, []
    evaluation = item.evaluations[contrast.model][item.benchmarks.index(benchmark)]
    return evaluation, plan.evaluations[evaluation].data.about.hard_levels


def _of_training(plan: Plan, claim: Claim, contrast: Contrast, cells: dict[str, Cell]) -> str | None:
    """The set that a measure of training is of: held-out problems for probes, else what the arms are trained on."""
    policies = [policy for term in contrast.terms if term.arm in cells for policy, _ in cells[term.arm].policies]
    runs = [plan.runs[policy] for policy in policies if policy in plan.runs]
    of_curve = (claim.measure or "").rpartition(".")[2] in MEASURES  # not so of measures of weights, nor of a law
    probed = of_curve and curve(str(claim.measure)).rows == PROBE
    return ", ".join(dict.fromkeys((run.validation if probed else run.data).name for run in runs)) or None


def _rates(cell: Cell, seeds: int | None) -> list[dict[str, Any]]:
    """The policies at each learning rate, of the first seeds; one rate at the paper's setting."""
    rates = cell.rates or ((cell.learning_rate, cell.policies),)
    return [{"learning_rate": rate, "policies": [policy for policy, _ in pairs[:seeds]]} for rate, pairs in rates]


@dataclass(frozen=True)
class Needs:
    """What claims read: scores and diversity of (policy, evaluation); rows, weights, hidden states of runs."""

    scores: dict[tuple[str, str], None] = field(default_factory=dict)
    diversity: dict[tuple[str, str], None] = field(default_factory=dict)
    runs: dict[str, None] = field(default_factory=dict)
    changes: dict[str, None] = field(default_factory=dict)
    hidden: dict[str, None] = field(default_factory=dict)


def _rows_of(claim: dict[str, Any]) -> str:
    """The rows of runs that a claim over curves or collapses reads."""
    of_weights = claim["measure"] is not None and curve(claim["measure"]).rows == WEIGHTS
    return "changes" if of_weights else "runs"


def needs(claims: list[dict[str, Any]]) -> Needs:
    """What the contrasts of claims read, each once."""
    found = Needs()
    for claim in claims:
        pairs = getattr(found, claim.get("evidence", "scores"))
        for contrast in claim["contrasts"]:
            for term in contrast["terms"]:
                policies = [policy for rate in term["rates"] for policy in rate["policies"]]
                if term["evaluation"] is None:
                    getattr(found, claim.get("rows") or _rows_of(claim)).update(dict.fromkeys(policies))
                else:
                    pairs.update(dict.fromkeys((policy, term["evaluation"]) for policy in policies))
    return found

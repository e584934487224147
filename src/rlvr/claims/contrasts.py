"""The claims of a paper as contrasts of planned cells; `rlvr.claims.evaluate` computes the numbers."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rlvr.claims import mechanisms, placebos
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import MEASURES, PROBE, curve
from rlvr.config.plan import Cell, Item, PaperPlan, Plan, Policies, asked_for
from rlvr.config.schema.items import Claim
from rlvr.items import kind_of
from rlvr.items.contrast import (
    RUNS,
    ClaimKind,
    ClaimSpec,
    Contrast,
    ContrastSpec,
    PublishedContrast,
    PublishedTerm,
    Rate,
    Term,
    TermSpec,
)
from rlvr.statistics.frontier import LEAST

PAPER, EQUAL = "paper's setting", "equal pass@1"
# Keys of a claim that only some kinds of tables and figures can read (`ClaimKind.reads`).
OPTIONAL = ("benchmarks", "average", "k", "part", "during", "since", "relative", "each_checkpoint")
OF_CLAIM = (
    "says",
    "place",
    "of",
    "over",
    "predicate",
    "threshold",
    "no_effect",
    "size",
    "measure",
    "at_least",
    "own_models",
)
QUARTER = 0.25  # of a claimed effect: a smaller difference has no practical size


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
    models = {*(cell.model for cell in item.cells), *item.shown_by}
    for model in claim.models:
        look_up(models, model, "model", f"{place}.models")
    kind = kind_of(item).claims
    if kind is None:
        raise ConfigError(f"{place}.over: {claim.over} has no pass@k and no measure for a claim; name another item")
    kind.check(claim, item, config, plan, place)
    for key in OPTIONAL:
        default = Claim.model_fields[key].default
        if key not in kind.reads and key in claim.model_fields_set and getattr(claim, key) != default:
            raise ConfigError(f"{place}.{key}: remove this key: {claim.over} is {kind.what}")
    all_contrasts = contrasts(claim, item)
    arms = {cell.row.arm for cell in item.cells}
    for arm in dict.fromkeys(term.arm for contrast in all_contrasts for term in contrast.terms):
        look_up(arms, arm, "arm", f"{place} (over {claim.over})")
    for arm in claim.published:
        look_up(arms, arm, "arm", f"{place}.published")
    if not all_contrasts:
        raise ConfigError(f"{place}: has no contrast over {claim.over}: no model, benchmark or k is left")


def _kind(item: Item) -> ClaimKind:
    """What contrasts of an item's cells are made of. `check` refuses a claim over an item that has none."""
    kind = kind_of(item).claims
    assert kind is not None, item.name
    return kind


def contrasts(claim: Claim, item: Item, ks: list[int] | None = None) -> list[Contrast]:
    """All contrasts of a claim, over the models of its item, and the benchmarks and k (or `ks`) of a table."""
    kind = _kind(item)
    every_k: list[int] = ks or getattr(item.content, "k", [])
    parts = [claim]
    if claim.predicate == "slope":  # each later k against the first; the largest k of a scale may replace several
        parts = [claim.model_copy(update={"k": [claim.k[0], k]}) for k in claim.k[1:]]
    return list(dict.fromkeys(contrast for part in parts for contrast in kind.contrasts(part, item, every_k)))


# ---- layouts ------------------------------------------------------------------------------------


def layout(plan: Plan, paper: str, of: list[str] | None = None) -> list[ClaimSpec]:
    """Every claim of a paper at the paper's setting and, where its arms have several learning rates, at equal pass@1,
    for `rlvr.claims.evaluate`. Contrasts that this scale does not run have no terms. With `of`, only the runs of these
    items count."""
    planned, claims = plan.papers[paper], []
    for claim in planned.paper.claims:
        against = [specified(plan, paper, one, of) if one else {} for one in placebos.against(planned, claim)]
        for effort, spec in specified(plan, paper, claim, of).items():
            parts = [
                part for one in against for part in (one[effort].contrasts if effort in one else (placebos.NO_TABLE,))
            ]
            claims.append(spec.model_copy(update={"placebos": tuple(parts)}))
    return claims


def specified(plan: Plan, paper: str, claim: Claim, of: list[str] | None = None) -> dict[str, ClaimSpec]:
    """A claim by effort, as `layout` has it."""
    planned, specs = plan.papers[paper], {}
    within_reach = _within_reach(plan, paper, of)
    item = planned.item(claim.over)
    matched = _matched(planned, item)
    for effort, source in {PAPER: item, **({EQUAL: matched} if matched else {})}.items():
        every = contrasts(claim, item)
        if effort == EQUAL:
            every = _at_equal_pass_1(every, claim, source)
        parts = _once([_described(plan, claim, item, contrast, source) for contrast in every])
        if parts:
            specs[effort] = _specified(plan, paper, claim, item, effort, [within_reach(part) for part in parts])
    return specs


def _specified(plan: Plan, paper: str, claim: Claim, item: Item, effort: str, parts: list[ContrastSpec]) -> ClaimSpec:
    planned, kind = plan.papers[paper], _kind(item)
    settings = next(iter(planned.settings.values()))  # a paper with claims has models
    reference, published = _published(planned, claim, item) if effort == PAPER else (None, [])
    about = mechanisms.about(planned, claim, item, every := contrasts(claim, item))
    return ClaimSpec(
        paper=paper,
        short=planned.paper.short,
        claim=claim.name,
        **claim.model_dump(include=set(OF_CLAIM)),
        about=about,
        acting=mechanisms.must_act(planned, every, about),
        margin=_margin(planned, claim, kind),
        effort=effort,
        reference=reference,
        published=tuple(published),
        contrasts=tuple(parts),
        kind=(item.folder, item.content.kind),
        options=kind.options(claim, item, plan, paper).model_dump(mode="json"),
        evidence=kind.evidence,
        rows=kind.rows(claim),
        statistics=settings.statistics,
    )


def _margin(planned: PaperPlan, claim: Claim, kind: ClaimKind) -> float:
    """The smallest difference of practical size: the claim's own, or the paper's and at most a quarter of the size."""
    if claim.margin is not None:
        return claim.margin
    point = kind.point(claim)
    margins = [] if point is None else [planned.paper.margin * point]
    if claim.size is not None:
        margins.append(QUARTER * (claim.size - claim.no_effect))
    return min(margins, default=0.0)


def _once(parts: list[ContrastSpec]) -> list[ContrastSpec]:
    """Contrasts with equal terms as one, of all their benchmarks: a scale may put one set in the place of several."""
    found: dict[str, ContrastSpec] = {}
    for i, part in enumerate(parts):
        terms = [term.model_dump() for term in part.terms]
        key = json.dumps([part.model, part.says, terms]) if terms else str(i)
        first = found.get(key)
        benchmarks = part.benchmark if first is None else f"{first.benchmark}, {part.benchmark}"
        found[key] = (first or part).model_copy(update={"benchmark": benchmarks})
    return list(found.values())


def _within_reach(plan: Plan, paper: str, of: list[str] | None) -> Callable[[ContrastSpec], ContrastSpec]:
    """A function that keeps the terms of a contrast if the runs and scores of some items, or of this scale, suffice.

    At equal pass@1 the curve keeps the rates that are there, LEAST at least, or there are no terms. Some items may have
    fewer seeds than the scale: the terms then have the first of them.
    """
    planned = plan.papers[paper]
    planned_items = [planned.item(name) for name in of or asked_for(plan, paper)]
    pairs = {pair for item in planned_items for pair in item.scored()}
    runs = {policy for item in planned_items for policy in item.policies()}

    def there(policies: Sequence[str], evaluation: str | None) -> bool:
        return set(policies) <= runs if evaluation is None else {(p, evaluation) for p in policies} <= pairs

    def of_first_seeds(terms: Sequence[TermSpec]) -> tuple[TermSpec, ...]:
        most = max((len(term.policies) for term in terms), default=0)
        seeded = [term for term in terms if len(term.policies) == most]
        seeds = min((sum(there([p], term.evaluation) for p in term.policies) for term in seeded), default=0)
        cut = [term.model_copy(update={"policies": term.policies[: seeds or None]}) for term in terms]
        return tuple(new if old in seeded else old for old, new in zip(terms, cut, strict=True))

    def within_reach(contrast: ContrastSpec) -> ContrastSpec:
        if of and not contrast.curve:
            contrast = contrast.model_copy(update={"terms": of_first_seeds(contrast.terms)})
        evaluations = {term.evaluation for term in contrast.terms}
        curve = tuple(rate for rate in contrast.curve if all(there(rate.policies, on) for on in evaluations))
        enough = len(curve) >= min(LEAST, len(contrast.curve))
        complete = enough and all(there(term.policies, term.evaluation) for term in contrast.terms)
        return contrast.model_copy(update={"curve": curve} if complete else {"curve": (), "terms": ()})

    return within_reach


def _matched(planned: PaperPlan, item: Item) -> Item | None:
    """The companion of a table that compares its arms at equal pass@1."""
    companions = (table for table in planned.tables.values() if table.companion_of == item.name)
    return next((table for table in companions if any(cell.rates for cell in table.cells)), None)


def _at_equal_pass_1(every: list[Contrast], claim: Claim, matched: Item) -> list[Contrast]:
    """The contrasts with a meaning at equal pass@1.

    They are of differences between methods at a k above 1: there each is compared with the baseline's curve. The base
    policy is no method, and a crossing joins two k.
    """
    arms = {cell.row.arm for cell in matched.cells} - {"base"}
    return [
        contrast
        for contrast in (every if claim.predicate != "crossing" else [])
        if any(term.k != 1 for term in contrast.terms) and {term.arm for term in contrast.terms} <= arms
        if _between_methods(contrast)
    ]


def _between_methods(contrast: Contrast) -> bool:
    """Whether the weights at each k, level and benchmark are of differences."""
    totals: dict[tuple, float] = defaultdict(float)
    for term in contrast.terms:
        totals[term.k, term.hard, term.benchmark] += term.weight
    return all(abs(total) < 1e-9 for total in totals.values())


def _described(plan: Plan, claim: Claim, item: Item, contrast: Contrast, source: Item) -> ContrastSpec:
    """A contrast with its policies and evaluations; no terms where an arm has no cell.

    `source` has the cells: the item, or its companion at equal pass@1, whose baseline has a curve.
    """
    cells = {cell.row.arm: cell for cell in source.cells if cell.model == contrast.model}
    complete = all(term.arm in cells for term in contrast.terms)
    on_curve = next((cell for cell in cells.values() if cell.rates), None) if source is not item and complete else None
    found = {term: _evaluation(plan, item, contrast, term) for term in contrast.terms}
    sets = dict.fromkeys(plan.evaluations[name].data.name for name, _ in found.values() if name is not None)
    hard = getattr(item.content, "hard_levels", False)
    terms = [
        TermSpec(
            weight=term.weight,
            arm=term.arm,
            label=cells[term.arm].row.label,
            k=term.k,
            levels=tuple(found[term][1]) if term.hard or hard else None,
            evaluation=found[term][0],
            learning_rate=cells[term.arm].learning_rate,
            policies=_names(cells[term.arm].policies),
        )
        for term in (contrast.terms if complete else ())
    ]
    return ContrastSpec(
        says=contrast.says,
        model=contrast.model,
        stand_in=plan.stand_ins.get(contrast.model, contrast.model),
        benchmark=contrast.benchmark,
        data=", ".join(sets) or _of_training(plan, claim, contrast, cells),
        baseline=on_curve.row.arm if on_curve else "",
        curve=tuple(Rate(learning_rate=r, policies=_names(of)) for r, of in (on_curve.rates if on_curve else ())),
        of_rates=_of_rates(plan, [cells[term.arm] for term in contrast.terms] if complete else []),
        terms=tuple(terms),
    )


def _of_rates(plan: Plan, cells: list[Cell]) -> bool:
    """Whether the runs of several arms differ only in their learning rate."""
    if len({cell.learning_rate for cell in cells}) < 2:
        return False
    first = [plan.runs.get(cell.policies[0][0]) for cell in cells]
    alike = {
        run.model_copy(update={"rl": run.rl.model_copy(update={"learning_rate": 1.0})}).model_dump_json()
        for run in first
        if run is not None
    }
    return None not in first and len(alike) == 1


def _published(planned: PaperPlan, claim: Claim, item: Item) -> tuple[str | None, list[PublishedContrast]]:
    """The paper's table and the contrasts in it: with its names of models, benchmarks and methods, and all its k."""
    if claim.published:
        return None, _in_the_claim(claim, item)
    reference = getattr(item.content, "reference", None)
    columns, measure = _kind(item).published, claim.measure or ""  # by measure, where the table is not of pass@k
    if reference is None or getattr(item.content, "hard_levels", False) or (columns and measure not in columns):
        return None, []
    column = columns.get(measure, "{}")
    name, methods = planned.paper.published_name, {cell.row.arm: cell.row.published for cell in item.cells}
    every = contrasts(claim, item.in_all_blocks(), getattr(planned.paper.tables[item.name], "k", None))
    return reference, [
        PublishedContrast(
            says=contrast.says,
            model=name(contrast.model),
            benchmark=column.format(name(str(contrast.benchmark))),
            terms=tuple(
                PublishedTerm(
                    weight=term.weight,
                    k=term.k,
                    hard=term.hard,
                    method=methods[term.arm],
                    benchmark=column.format(name(str(term.benchmark or contrast.benchmark))),
                )
                for term in contrast.terms
            ),
            of=(contrast.model, contrast.benchmark),
        )
        for contrast in every
    ]


def _in_the_claim(claim: Claim, item: Item) -> list[PublishedContrast]:
    """The contrasts of numbers that the claim itself has, of the first model: a paper's text names one."""
    every = contrasts(claim, item)
    return [
        PublishedContrast(
            says=contrast.says,
            model=None,
            benchmark="",
            terms=(),
            of=(contrast.model, contrast.benchmark),
            value=sum(term.weight * claim.published[term.arm] for term in contrast.terms),
        )
        for contrast in every
        if contrast.model == every[0].model and all(term.arm in claim.published for term in contrast.terms)
    ]


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


def _names(policies: Policies) -> tuple[str, ...]:
    return tuple(policy for policy, _ in policies)


Pairs = dict[tuple[str, str], None]  # (policy, evaluation)


@dataclass(frozen=True)
class Needs:
    """What claims read, each once: scores and diversity of (policy, evaluation), rows of runs, measures of runs."""

    scores: Pairs = field(default_factory=dict)
    diversity: Pairs = field(default_factory=dict)
    rows: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))  # by RUNS or measure

    @property
    def runs(self) -> list[str]:
        """The runs whose probes and metrics are read."""
        return list(self.rows[RUNS])

    @property
    def measured(self) -> dict[str, list[str]]:
        """By measure of runs: the runs."""
        return {measure: list(runs) for measure, runs in self.rows.items() if measure != RUNS}


def needs(claims: Sequence[ClaimSpec]) -> Needs:
    """What the contrasts of claims read."""
    found = Needs()
    for claim in claims:
        pairs = found.scores if claim.evidence == "scores" else found.diversity
        both = ((term, (term, *one.curve)) for one in (*claim.contrasts, *claim.placebos) for term in one.terms)
        for term, parts in both:
            for policy in (policy for part in parts for policy in part.policies):
                if term.evaluation is None:
                    found.rows[claim.rows][policy] = None
                else:
                    pairs[policy, term.evaluation] = None
    return found

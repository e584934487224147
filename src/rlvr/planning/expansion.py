"""From papers and a scale to the plan of all outputs.

Expansion reads configuration, writes nothing and imports no torch: Snakemake makes the plan each time it parses the
Snakefile.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from rlvr.claims import controls as controlled
from rlvr.claims import mechanisms
from rlvr.claims.contrasts import check as check_claim
from rlvr.claims.contrasts import check_all
from rlvr.config import identity
from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.plan import Cell, PaperPlan, Plan
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Settings
from rlvr.config.validate import validate
from rlvr.items import FIGURES, TABLE_KINDS, TABLES, kinds
from rlvr.items.scope import Curve
from rlvr.planning import check, controls, stated
from rlvr.planning.arms import BASE, Arms
from rlvr.planning.papers import Sources, read_sources
from rlvr.planning.runs import PaperRuns


def make_plan(root: Path | str, scale: str, papers: list[str], mine: str = "", own: str = "") -> Plan:
    """The plan of a configuration. Raises ConfigError, which names file and key.

    `mine` is an arm of config/papers/methods/ that its table `mine` ranks beside the others there; `own` is a file
    with a scale, models, data and a paper of one's own.
    """
    sources = read_sources(Path(root), scale, papers, own)
    if mine:
        _add_mine(sources, mine)
    settings, spec = validate(Settings, [sources.defaults, *sources.of_scale()]), sources.scale
    execution, diversity = settings.execution, settings.diversity
    companions = [paper for paper in papers if sources.with_companions(paper)]
    plan = Plan(scale, spec.about, spec.models, spec.data, execution, diversity, spec.items, companions)
    plan.controls = spec.controls
    for name in papers:
        plan.papers[name] = _expand(sources, plan, name)
    return plan


def _add_mine(sources: Sources, arm: str) -> None:
    """Adds a row to the table `mine`. Raises ConfigError for an arm that the paper methods lacks."""
    if "methods" not in sources.papers:
        raise ConfigError(f"--config mine={arm}: `mine` needs the paper methods; add it to `papers`")
    paper, layer = sources.papers["methods"]
    label = look_up(paper.arms, arm, "arm of config/papers/methods/", "--config mine").label or arm
    table: Any = paper.tables["mine"]
    if arm not in (row.arm for row in table.rows):
        rows = [*table.rows, Row(arm=arm, label=label)]
        tables = {**paper.tables, "mine": table.model_copy(update={"rows": rows})}
        sources.papers["methods"] = paper.model_copy(update={"tables": tables}), layer


def _expand(sources: Sources, plan: Plan, name: str) -> PaperPlan:
    paper, layer = sources.papers[name]
    check.names(paper, sources, layer)
    at_scale, _ = sources.at_scale[name]
    paper = _without(paper, at_scale.without)
    controls.check_arms(paper, layer)
    if sources.scale.controls == "none":
        paper = controls.left_out(paper)
    arms = Arms(paper, layer, sources.scale.matched)
    stated.check(paper, layer, arms.by_name)
    paper = paper.model_copy(update={"sweeps": arms.sweeps})
    runs = PaperRuns(sources, plan, paper, layer, arms)
    planned = PaperPlan(paper, settings=runs.settings, methods={arm: arms.method(arm) for arm in arms.swept})
    _plan_data(planned, runs, with_sft=any(map(sources.scale.fine_tunes, paper.models)))
    for model, arm in ((model, arm) for model in [*paper.models][:1] for arm in arms.by_name):
        runs.settings_of_arm(model, arm, layer.place(("arms",)))
    tables, figures, owners = _with_companions(paper, layer, runs, planned)
    for folder, configs, into in ((TABLES, tables, planned.tables), (FIGURES, figures, planned.figures)):
        for item, config in configs.items():
            scope = ItemScope(layer.place((folder, item)), runs, planned)
            expanded = kinds(folder).load(config.kind).expand(item, config, scope)
            into[item] = replace(expanded.in_one_block(), companion_of=owners.get(item))
    _leave_out_data(planned, plan, unused=bool(at_scale.without))
    check.published(paper, planned.tables, sources=sources, layer=layer)
    for key, selection in {"core": paper.core, "first": paper.first}.items():
        for table in selection.tables:
            look_up(planned.tables, table, "table", layer.place((key, "tables")))
        for figure in selection.figures:
            look_up(planned.figures, figure, "figure", layer.place((key, "figures")))
    check_all(plan, planned, layer.place(("claims",)))
    mechanisms.check_all(planned, layer.place(("mechanism",)))
    for control, claim in zip(paper.controls, controlled.as_claims(paper), strict=True):
        check_claim(claim, plan, planned, layer.place(("controls", control.name)))
    return planned


def _without(paper: Paper, left_out: list[str]) -> Paper:
    """The paper without the tables and figures that the scale cannot make, and the claims and controls over them."""

    def kept(selection: Any) -> Any:
        return selection.model_copy(update={f: _except(getattr(selection, f), left_out) for f in (TABLES, FIGURES)})

    claims = [claim for claim in paper.claims if claim.over not in left_out]
    controls = [control for control in paper.controls if control.table not in left_out]
    without = {"claims": claims, "controls": controls}
    return kept(paper).model_copy(update={**without, "core": kept(paper.core), "first": kept(paper.first)})


def _except(names: Any, left_out: list[str]) -> Any:
    """A list or a mapping without some names."""
    if isinstance(names, list):
        return [name for name in names if name not in left_out]
    return {name: value for name, value in names.items() if name not in left_out}


def _plan_data(planned: PaperPlan, runs: PaperRuns, *, with_sft: bool) -> None:
    paper = planned.paper
    trainers = [paper, *paper.models.values()]
    trained = [name for one in trainers for name in (one.data, *([one.sft_data] if with_sft else []))]
    trained = [paper.data, *(arm.data for arm in paper.arms.values()), *trained[1:]]
    planned.data = runs.data_sets([*trained, *(one.validation_data for one in trainers), *paper.benchmarks])
    planned.trained_on = runs.data_sets(trained)


def _leave_out_data(planned: PaperPlan, plan: Plan, *, unused: bool) -> None:
    """Takes out the sets that only items made by name use; with `unused`, those that no item uses too.

    The first may need an optional extra, and the second are those of items that the scale leaves out.
    """
    by_name = {name for name in planned.all_items() if planned.by_name(name)}
    used = _sets_of(planned, plan, [name for name in planned.all_items() if name not in by_name])
    every = {identity.data_id(data) for data in planned.data}
    gone = (every if unused else _sets_of(planned, plan, by_name)) - used
    planned.data = [data for data in planned.data if identity.data_id(data) not in gone]
    planned.trained_on = [data for data in planned.trained_on if identity.data_id(data) not in gone]


def _sets_of(planned: PaperPlan, plan: Plan, names: Iterable[str]) -> set[str]:
    """The ids of the sets that some items are trained on or measured on."""
    items = [planned.item(name) for name in names]
    policies = dict.fromkeys(policy for item in items for policy in item.policies())
    runs = [plan.runs[policy] for policy in policies if policy in plan.runs]
    starts = [plan.policies[policy] for policy in policies if policy in plan.policies]
    used = [data for run in runs for data in (run.data, run.validation)]
    used += [base.sft_data for base in (*starts, *(run.base for run in runs)) if base.sft_data is not None]
    used += [plan.evaluations[evaluation].data for item in items for _, evaluation in item.scored()]
    return {identity.data_id(data) for data in used}


def _with_companions(
    paper: Paper, layer: Layer, runs: PaperRuns, planned: PaperPlan
) -> tuple[dict[str, ItemConfig], dict[str, ItemConfig], dict[str, str]]:
    """The paper's tables and figures, then the companions of its tables, and the table of each companion."""
    more_tables, more_figures, owners = {}, {}, {}
    for name, config in paper.tables.items():
        companions = TABLE_KINDS.load(config.kind).companions
        if companions is not None:
            scope = ItemScope(layer.place((TABLES, name)), runs, planned)
            tables, figures = companions(name, config, scope)
            owners |= dict.fromkeys([*tables, *figures], name)
            more_tables |= tables
            more_figures |= figures
    check.own_items(paper, layer, owners)
    return {**paper.tables, **more_tables}, {**paper.figures, **more_figures}, owners


class ItemScope:
    """The implementation of `rlvr.items.scope.Scope` for one item of a paper."""

    def __init__(self, place: str, runs: PaperRuns, planned: PaperPlan):
        self.place, self.runs, self.planned = place, runs, planned
        self.paper, self.plan, self.matched = planned.paper, runs.plan, runs.scale.matched

    def models(self, names: list[str]) -> list[str]:
        for model in names:
            look_up(self.paper.models, model, "model", f"{self.place}.models")
        return names

    def rows(self, config: Any, *, trained: bool = False) -> list[Row]:
        rows = list(config.rows)
        if config.every_arm:
            arms = [*([] if trained else [BASE]), *self.paper.arms]
            rows = [Row(arm=arm, label=self.runs.arms.label(arm)) for arm in arms]
        for arm in self._of_its_sweep(config):
            sweep, named = self.paper.sweeps[config.sweep], self.runs.arms.swept[arm].named
            published = sweep.published.format(**named) if sweep.published else None
            rows.append(Row(arm=arm, label=sweep.label.format(**named), published=published))
        return rows

    def arms(self, config: Any) -> list[str]:
        return [*config.arms, *self._of_its_sweep(config)]

    def _of_its_sweep(self, config: Any) -> list[str]:
        if config.sweep is None:
            return []
        sweep = look_up(self.paper.sweeps, config.sweep, "sweep", f"{self.place}.sweep")
        return [arm for like in sweep.like for arm in self.swept(like, config.sweep)]

    def largest(self, k: list[int]) -> list[int]:
        limit = self.runs.scale.largest_k
        values = [value for value in k if limit is None or value <= limit]
        if not values:
            raise ConfigError(f"{self.place}.k: no value is at most {limit}, the largest_k of {self.runs.scale.name}")
        return values

    def cells(
        self, models: list[str], rows: list[Row], *, curve: Curve | None = None, seeds: int | None = None
    ) -> tuple[Cell, ...]:
        """One cell per model and row, of the paper's seeds or the first `seeds` of them."""
        return self._cells(models, rows, self.runs.seeds[:seeds] if seeds else None, curve)

    def trained(self, config: Any, models: list[str], rows: list[Row]) -> tuple[Cell, ...]:
        if any(row.arm == BASE for row in rows):
            raise ConfigError(f"{self.place}: the arm 'base' is not trained; remove it from an item about training")
        repeats = config.repeats and (self.runs.scale.repeats or config.repeats)
        own = self.runs.seeds[: getattr(config, "seeds", None)]
        return self._cells(models, rows, list(range(1, repeats + 1)) if repeats else own, None)

    def _cells(
        self, models: list[str], rows: list[Row], seeds: list[int] | None, curve: Curve | None
    ) -> tuple[Cell, ...]:
        sweeps = {curve.baseline: curve.sweep} if curve else {}
        return tuple(
            self.runs.cell(model, row, self.place, seeds=seeds, matched=sweeps.get(row.arm))
            for model, row in product(models, rows)
        )

    def evaluations(self, benchmarks: list[str], models: list[str], k: list[int]) -> dict[str, tuple[str, ...]]:
        by_benchmark = [{m: self.runs.evaluation(b, m, k, self.place) for m in models} for b in benchmarks]
        return {model: tuple(ids[model] for ids in by_benchmark) for model in models}

    def show_arms(self, cells: tuple[Cell, ...], evaluations: dict[str, tuple[str, ...]]) -> None:
        for cell in cells:
            pairs = self.planned.arms.setdefault(cell.row.arm, [])
            # Runs at another learning rate are another arm, which the frontier shows.
            scored = [(policy, evaluation) for evaluation in evaluations[cell.model] for policy, _ in cell.policies]
            pairs += [pair for pair in scored if pair not in pairs]

    def label_with_value(self, arm: str) -> str:
        return self.runs.arms.label_with_value(arm)

    def label_of_curve(self, arm: str) -> str:
        return self.runs.arms.label_of_curve(arm)

    def swept(self, arm: str, sweep: str) -> list[str]:
        return self.runs.arms.of_sweep(arm, sweep)

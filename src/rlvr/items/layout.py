"""The layout of an item: all that its statistics and its rendering need, without paths (`rlvr.config.layouts`)."""

from typing import Any, TypeVar, cast

from rlvr.config.layouts import CellLayout, CellsLayout, Layout, Looks, PanelLayout, Rate, ScoresLayout
from rlvr.config.plan import Cell, Item, Plan
from rlvr.config.schema.settings import Collapse, Evaluation
from rlvr.items import kind_of

Filled = TypeVar("Filled", bound=Layout)


def of(plan: Plan, paper: str, name: str) -> Layout:
    """The layout of a table or figure, from its kind."""
    item = plan.papers[paper].item(name)
    kind = kind_of(item)
    return kind.lay_out(item, plan, paper) if kind.lay_out else filled(cast(Any, kind.layout), item, plan, paper)


def filled(of: type[Filled], item: Item, plan: Plan, paper: str, **more: Any) -> Filled:
    """A layout of a type: what its bases hold, `more`, and its other keys from those of the item's configuration."""
    base = with_scores if issubclass(of, ScoresLayout) else with_cells if issubclass(of, CellsLayout) else common
    keys = {**dict(base(item, plan, paper)), **more}
    if issubclass(of, Looks):
        keys |= dict(_looks(plan, paper))
    return of(**{name: getattr(item.content, name) for name in of.model_fields if hasattr(item.content, name)} | keys)


def _looks(plan: Plan, paper: str) -> Looks:
    """What gives a method the same look in all figures of its paper."""
    arms = tuple((name, arm.color) for name, arm in plan.papers[paper].paper.arms.items())
    return Looks(arms=arms, methods=plan.papers[paper].methods)


def common(item: Item, plan: Plan, paper: str) -> Layout:
    """The layout's keys for every kind."""
    return Layout(
        name=item.name,
        title=item.content.title,
        note=item.content.note,
        scale=plan.scale,
        about_scale=plan.about,
        kind=item.content.kind,
    )


def with_cells(item: Item, plan: Plan, paper: str) -> CellsLayout:
    """The same, with the cells and the settings of statistics."""
    settings = plan.papers[paper].settings
    return CellsLayout(
        **dict(common(item, plan, paper)),
        cells=tuple(_cell(cell, item, plan, paper) for cell in item.cells),
        statistics=next(iter(settings.values())).statistics,
    )


def _block(model: str, item: Item) -> list[str]:
    """The models of a model's cells: itself, and those that have the same runs at this scale."""
    return [model, *(other for other, by in item.shown_by.items() if by == model)]


def _cell(cell: Cell, item: Item, plan: Plan, paper: str) -> CellLayout:
    block, paper_plan = _block(cell.model, item), plan.papers[paper]
    return CellLayout(
        model=", ".join(block),
        stand_in=plan.stand_ins.get(cell.model, cell.model),
        arm=cell.row.arm,
        label=cell.row.label,
        published=cell.row.published,
        published_model=paper_plan.paper.published_name(cell.model) if len(block) == 1 else None,
        learning_rate=cell.learning_rate,
        policies=tuple(policy for policy, _ in cell.policies),
        rates=tuple(
            Rate(learning_rate=rate, policies=tuple(policy for policy, _ in pairs)) for rate, pairs in cell.rates
        ),
        reference=cell.row.reference,
    )


def with_scores(item: Item, plan: Plan, paper: str) -> ScoresLayout:
    """The same for an item over benchmarks, with its panels, sampling settings and selected checkpoints."""
    sampling = plan.evaluations[next(iter(item.evaluations.values()))[0]].sampling
    compare = getattr(item.content, "compare_with", None)
    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    return ScoresLayout(
        **dict(with_cells(item, plan, paper)),
        panels=tuple(_panels(item, plan, paper)),
        k=getattr(item.content, "k", ()),
        compare_with=compare,
        compare_label=labels[compare] if compare else "",
        sampling=_sampling(sampling) + _limits(item, plan),
        selected=_selected(item, plan),
        trainers=_trainers(item, plan),
        measures=getattr(item.content, "measures", ()),
        published_width=plan.papers[paper].paper.published_width,
    )


def _sampling(sampling: Evaluation) -> str:
    precision = f", {sampling.precision}" if sampling.precision != "float32" else ""
    return f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}{precision}"


def _limits(item: Item, plan: Plan) -> str:
    """Where a model's context limits its responses, in words; empty where none does."""
    samplings = {model: plan.evaluations[ids[0]].sampling for model, ids in item.evaluations.items()}
    return "".join(
        f"; responses of {model} have {sampling.max_total_tokens:,} tokens minus the prompt"
        for model, sampling in samplings.items()
        if sampling.max_total_tokens
    )


def _panels(item: Item, plan: Plan, paper: str) -> list[PanelLayout]:
    """The benchmarks, each with the evaluation of each model, and its levels."""
    hard = getattr(item.content, "hard_levels", False)
    panels = []
    for i, name in enumerate(item.benchmarks):
        models = (model for model in item.evaluations if model not in item.shown_by)
        evaluations = {", ".join(_block(model, item)): item.evaluations[model][i] for model in models}
        data = plan.evaluations[next(iter(evaluations.values()))].data
        panels.append(
            PanelLayout(
                name=f"{name}, hard levels" if hard else name,
                published="" if hard else plan.papers[paper].paper.published_name(name),
                stand_in=data.name,
                evaluations=evaluations,
                levels=tuple(data.about.hard_levels) if hard else None,
            )
        )
    return panels


def _selected(item: Item, plan: Plan) -> dict[str, str]:
    """How checkpoints of each method were selected, in words; empty where all are from the last step."""
    words: dict[str, str] = {}
    for cell in item.cells:
        for policy, _ in cell.policies:
            run = plan.runs.get(policy)
            if run is not None and run.selection.rule == "best_validation":
                problems = f"{min(run.probe.problems, run.validation.problems or run.probe.problems)} problems"
                words[cell.row.label] = f"{run.validation.name} ({problems} x {run.probe.samples} samples)"
    return words


def _trainers(item: Item, plan: Plan) -> dict[str, list[str]]:
    """The methods of each trainer, where runs of several stand in one item."""
    words: dict[str, list[str]] = {}
    for cell in item.cells:
        for backend in {plan.runs[policy].rl.backend for policy, _ in cell.policies if policy in plan.runs}:
            words.setdefault(backend, []).append(cell.row.label)
    return {name: list(dict.fromkeys(labels)) for name, labels in words.items()} if len(words) > 1 else {}


def runs_of_cells(item: Item, plan: Plan) -> list[Any]:
    """The specification of each cell's first run; the cell's other runs differ only in the seed."""
    return [plan.runs[cell.policies[0][0]] for cell in item.cells]


def collapse_rule(plan: Plan, paper: str) -> Collapse:
    """The paper's rule for collapsed runs."""
    return next(iter(plan.papers[paper].settings.values())).collapse

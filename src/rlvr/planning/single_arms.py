"""Tables of a single arm of a paper and its baseline, one per model."""

from collections.abc import Iterator
from typing import Any

from rlvr.config.paths import Paths
from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.items import DEFAULT, TABLE_KINDS, TABLES
from rlvr.items.layout import with_scores


def baseline_of(paper_plan: PaperPlan, arm: str) -> str | None:
    """The baseline of the first table that shows the arm, else the paper's first arm.

    None for the baseline itself, and for the base policy: it has no training seed to pair by.
    """
    tables = [item for item in paper_plan.tables.values() if any(cell.row.arm == arm for cell in item.cells)]
    names = [getattr(item.content, "compare_with", None) for item in tables]
    first = next(iter(paper_plan.paper.arms), None)
    baseline = next((name for name in names if name is not None), first)
    return None if arm == "base" or baseline == arm else baseline


def items_of_arm(plan: Plan, paper: str, arm: str) -> list[Item]:
    """A table per model: the arm and its baseline, on all benchmarks of the arm.

    Its k are those of all tables of the paper, up to the number of samples.
    """
    paper_plan, baseline = plan.papers[paper], baseline_of(plan.papers[paper], arm)
    kind, items = DEFAULT[TABLES], []
    for model in paper_plan.paper.models:
        cell = _cell(paper_plan, model, arm)
        if cell is None:
            continue
        baseline_cell = _cell(paper_plan, model, baseline) if baseline is not None else None
        evaluations = _evaluations(paper_plan, model, arm)
        samples = min(plan.evaluations[name].sampling.samples for name in evaluations.values())
        config: Any = TABLE_KINDS.load(kind).config
        content = config(
            kind=kind,
            rows=[cell.row],
            title=f"{cell.row.label} alone",
            models=[model],
            benchmarks=list(evaluations),
            k=[k for k in _k(paper_plan) if k <= samples],
            compare_with=baseline_cell.row.arm if baseline_cell else None,
        )
        cells = (cell,) if baseline_cell is None else (cell, baseline_cell)
        items.append(Item(TABLES, arm, content, cells, {model: tuple(evaluations.values())}, tuple(evaluations)))
    return items


def _scored(paper_plan: PaperPlan) -> Iterator[Item]:
    """Every table and figure that shows scores."""
    return (item for item in (*paper_plan.tables.values(), *paper_plan.figures.values()) if item.evaluations)


def _cell(paper_plan: PaperPlan, model: str, arm: str) -> Cell | None:
    """An arm's runs on a model, from the first item with their scores, without other learning rates; None if absent."""
    cells = (cell for item in _scored(paper_plan) for cell in item.cells if (cell.model, cell.row.arm) == (model, arm))
    cell = next(cells, None)
    return None if cell is None else Cell(cell.model, cell.row, cell.policies, cell.learning_rate)


def _evaluations(paper_plan: PaperPlan, model: str, arm: str) -> dict[str, str]:
    """The evaluations of an arm on a model by benchmark, in the paper's order."""
    evaluations: dict[str, str] = {}
    for item in _scored(paper_plan):
        if any((cell.model, cell.row.arm) == (model, arm) for cell in item.cells):
            evaluations |= dict(zip(item.benchmarks, item.evaluations[model], strict=True))
    return {name: evaluations[name] for name in paper_plan.paper.benchmarks if name in evaluations}


def _k(paper_plan: PaperPlan) -> list[int]:
    """The k of the paper's tables, else of its figures."""
    tables = {k for item in paper_plan.tables.values() for k in getattr(item.content, "k", []) if item.evaluations}
    return sorted(tables or {k for item in _scored(paper_plan) for k in getattr(item.content, "k", [])})


def of_arm(plan: Plan, paper: str, arm: str) -> dict[str, Any]:
    """The layout of one arm's statistics: a table on each model, its cells with their training seeds.

    `scores` are the files that they read, relative to the results folder.
    """
    models = []
    for item in items_of_arm(plan, paper, arm):
        model_layout = with_scores(item, plan, paper)
        cells = tuple(
            cell.model_copy(update={"seeds": tuple(seed for _, seed in planned.policies)})
            for cell, planned in zip(model_layout.cells, item.cells, strict=True)
        )
        models.append(model_layout.model_copy(update={"cells": cells}).model_dump(mode="json"))
    return {"arm": arm, "models": models, "scores": scores_of_arm(plan, paper, arm, Paths(".", plan.scale))}


def scores_of_arm(plan: Plan, paper: str, arm: str, paths: Paths) -> list[str]:
    """The scores of an arm's runs and of its baseline's."""
    return [paths.scores(*pair) for item in items_of_arm(plan, paper, arm) for pair in item.scored()]

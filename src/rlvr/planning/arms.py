"""One arm of a paper on its own: what it is compared with, and a table of both on each model."""

from __future__ import annotations

from collections.abc import Iterator

from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.config.schema.items import Table


def compared_with(made: PaperPlan, arm: str) -> str | None:
    """The arm that the first table which shows this one compares with, else the paper's first arm.

    None for that arm itself. None for the base policy too: it has no training seed to compare by.
    """
    shown = [item for item in made.tables.values() if any(cell.row.arm == arm for cell in item.cells)]
    named = [item.content.compare_with for item in shown if isinstance(item.content, Table)]
    first = next(iter(made.paper.arms), None)
    found = next((name for name in named if name is not None), first)
    return None if arm == "base" or found == arm else found


def items_of_arm(plan: Plan, paper: str, arm: str) -> list[Item]:
    """A table on each model: the arm, and beside it the one that it is compared with, on all benchmarks of the arm.

    Its k are those of all tables of the paper that have some, as far as there are as many samples.
    """
    made, other = plan.papers[paper], compared_with(plan.papers[paper], arm)
    items = []
    for model in made.paper.models:
        own = _cell(made, model, arm)
        if own is None:
            continue
        beside = _cell(made, model, other) if other is not None else None
        evaluations = _evaluations(made, model, arm)
        samples = min(plan.evaluations[name].sampling.samples for name in evaluations.values())
        content = Table(
            title=f"{own.row.label} alone",
            models=[model],
            benchmarks=list(evaluations),
            k=[k for k in _k(made) if k <= samples],
            compare_with=beside.row.arm if beside else None,
        )
        cells = (own,) if beside is None else (own, beside)
        items.append(Item(arm, content, cells, {model: tuple(evaluations.values())}))
    return items


def _scored(made: PaperPlan) -> Iterator[Item]:
    """Every table and figure that is made of scores."""
    return (item for item in (*made.tables.values(), *made.figures.values()) if item.evaluations)


def _cell(made: PaperPlan, model: str, arm: str) -> Cell | None:
    """An arm's own runs on a model, where some table or figure has their scores; not those at another learning rate."""
    cells = (cell for item in _scored(made) for cell in item.cells if (cell.model, cell.row.arm) == (model, arm))
    found = next(cells, None)
    return None if found is None else Cell(found.model, found.row, found.policies, found.learning_rate)


def _evaluations(made: PaperPlan, model: str, arm: str) -> dict[str, str]:
    """The benchmarks on which an arm is shown on a model, in the paper's order, with the evaluation of each."""
    found: dict[str, str] = {}
    for item in _scored(made):
        if any((cell.model, cell.row.arm) == (model, arm) for cell in item.cells):
            names = item.content.benchmarks or [str(item.content.benchmark)]
            found |= dict(zip(names, item.evaluations[model], strict=True))
    return {name: found[name] for name in made.paper.benchmarks if name in found}


def _k(made: PaperPlan) -> list[int]:
    """The k of the paper's tables; of its figures where no table has any."""
    tables = {k for item in made.tables.values() for k in item.content.k if item.evaluations}
    return sorted(tables or {k for item in _scored(made) for k in item.content.k})

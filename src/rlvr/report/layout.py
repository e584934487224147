"""The layouts of the report's pages: all that they need, as plain data without paths."""

from typing import Any

from rlvr import items
from rlvr.config.plan import Plan, asked_for, by_name, first_items, runs_of

ANSWERS = ("comparisons", "pass_at_k")  # kinds of tables


def items_of_page(plan: Plan, page: str) -> list[tuple[str, str]]:
    """The (paper, item) pairs of a page: of the default target, of what `paper_<name>` makes, or of a league."""
    if page == "index":
        return first_items(plan)
    return [(page, item) for item in asked_for(plan, page)] if page in plan.papers else by_name(plan)[page]


def names(plan: Plan) -> list[str]:
    """Every page: the overview, one per paper, one per item that is made only by name."""
    return ["index", *plan.papers, *by_name(plan)]


def of_page(plan: Plan, page: str) -> dict[str, Any]:
    """The layout of a report page: its papers, tables and figures, and the policies behind each."""
    pairs = items_of_page(plan, page)
    return {
        "page": page,
        "scale": plan.scale,
        "about_scale": plan.about,
        "notes": plan.notes,
        "stand_ins": {"models": plan.stand_ins, "data": plan.data_stand_ins},
        "methods": {name: paper_plan.methods for name, paper_plan in plan.papers.items()},
        "every_paper": [_in_short(plan, name) for name in plan.papers] if page == "index" else [],
        "title": _leagues(plan).get(page, ""),
        "leagues": _leagues(plan) if page == "index" else {},
        "papers": [
            {
                **plan.papers[name].paper.model_dump(include={"name", "short", "title", "authors", "deviations"}),
                "sets": bool(plan.papers[name].data),
                "placebos": plan.papers[name].paper.placebos,
                "arms": {
                    key: {"label": arm.label or key, "about": arm.about}
                    for key, arm in plan.papers[name].paper.arms.items()
                },
                "items": [_entry(plan, name, item) for paper, item in pairs if paper == name],
            }
            for name in dict.fromkeys(paper for paper, _ in pairs)
        ],
    }


def _leagues(plan: Plan) -> dict[str, str]:
    """The title of each page of an item that is made only by name."""
    return {name: plan.papers[pairs[0][0]].item(name).content.title for name, pairs in by_name(plan).items()}


def _in_short(plan: Plan, paper: str) -> dict[str, Any]:
    """The overview's entry of a paper: what answers it, and the runs and evaluations of its target."""
    paper_plan = plan.papers[paper]
    chosen_items = [paper_plan.item(name) for name in asked_for(plan, paper)]
    pairs = dict.fromkeys(pair for item in chosen_items for pair in item.scored())
    return {
        "name": paper,
        "short": paper_plan.paper.short,
        "answers": answers_of(plan, paper),
        "runs": runs_of(plan, paper),
        "evaluations": [list(pair) for pair in pairs],
    }


def answers_of(plan: Plan, paper: str) -> list[str]:
    """The tables of a paper's target that say what was found: comparisons with placebos, and pass@k."""
    found = (plan.papers[paper].item(name) for name in asked_for(plan, paper))
    return [item.name for item in found if item.content.kind in ANSWERS]


def _entry(plan: Plan, paper: str, name: str) -> dict[str, Any]:
    paper_plan = plan.papers[paper]
    item, sources = paper_plan.item(name), [paper_plan.item(source) for source in paper_plan.statistics_of(name)]
    cells = [cell for source in sources for cell in source.cells]
    return {
        "name": name,
        "folder": item.folder,
        "analytic": items.kind_of(item).every_scale,
        "kind": item.content.kind,
        "scale": plan.scale,
        "title": item.content.title,
        "note": item.content.note,
        "smooth": getattr(item.content, "smooth", None),
        "statistics": paper_plan.statistics_of(name),
        "level": next((1 - settings.statistics.confidence for settings in paper_plan.settings.values()), None),
        "manifests": {policy: plan.stage(policy) for cell in cells for policy, _ in cell.candidates()},
    }

"""What the pages of the report are told: plain data, complete, without paths."""

from __future__ import annotations

from typing import Any

from rlvr import items
from rlvr.config.plan import Plan, asked_for, first_items, runs_of


def items_of_page(plan: Plan, page: str) -> list[tuple[str, str]]:
    """(paper, item): of the overview a first look, of a paper's page what is asked for of it."""
    return first_items(plan) if page == "index" else [(page, item) for item in asked_for(plan, page)]


def of_page(plan: Plan, page: str) -> dict[str, Any]:
    """The layout of a report page: its papers, tables and figures, and the policies behind each."""
    shown = items_of_page(plan, page)
    papers = list(dict.fromkeys(paper for paper, _ in shown))
    return {
        "page": page,
        "scale": plan.scale,
        "about_scale": plan.about,
        "stand_ins": {"models": plan.stand_ins, "data": plan.data_stand_ins},
        "methods": {name: of.methods for name, of in plan.papers.items()},
        "every_paper": [_in_short(plan, name) for name in plan.papers] if page == "index" else [],
        "papers": [
            {
                "name": paper,
                "short": plan.papers[paper].paper.short,
                "title": plan.papers[paper].paper.title,
                "authors": plan.papers[paper].paper.authors,
                "deviations": plan.papers[paper].paper.deviations,
                "sets": bool(plan.papers[paper].data),
                "arms": {
                    name: {"label": arm.label or name, "about": arm.about}
                    for name, arm in plan.papers[paper].paper.arms.items()
                },
                "items": [_entry(plan, paper, name) for owner, name in shown if owner == paper],
            }
            for paper in papers
        ],
    }


def _in_short(plan: Plan, paper: str) -> dict[str, Any]:
    """What the overview says of a paper: how many claims, and the runs and evaluations of what is asked for."""
    made = plan.papers[paper]
    asked = [made.item(name) for name in asked_for(plan, paper)]
    pairs = dict.fromkeys(pair for item in asked for pair in item.scored())
    return {
        "name": paper,
        "short": made.paper.short,
        "title": made.paper.title,
        "claims": len(made.paper.claims),
        "items": len(asked),
        "runs": runs_of(plan, paper),
        "evaluations": [list(pair) for pair in pairs],
    }


def _entry(plan: Plan, paper: str, name: str) -> dict[str, Any]:
    made = plan.papers[paper]
    sources = [made.item(source) for source in made.statistics_of(name)]
    cells = [cell for source in sources for cell in source.cells]
    return {
        "name": name,
        "folder": made.item(name).folder,
        "analytic": items.hook(items.load(made.item(name).folder, made.item(name).content.kind), "EVERY_SCALE", False),
        "shown": made.item(name).content.kind,
        "title": made.item(name).content.title,
        "note": made.item(name).content.note,
        "statistics": made.statistics_of(name),
        "level": next((1 - settings.statistics.confidence for settings in made.settings.values()), None),
        "policies": list(dict.fromkeys(policy for cell in cells for policy, _ in cell.candidates())),
        "manifests": {policy: plan.stage(policy) for cell in cells for policy, _ in cell.candidates()},
    }

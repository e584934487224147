"""What the last stages are told about a table, a figure or a page: plain data, complete, without paths."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from rlvr.config.layers import ConfigError
from rlvr.config.measures import shown
from rlvr.config.plan import Cell, Item, Plan, asked_for, first_items, runs_of
from rlvr.config.schema.items import Figure, Table
from rlvr.planning.arms import items_of_arm


def digest(content: Any) -> str:
    """A short name of plain data: a change of it runs a rule again, where it is too long for a command line."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def as_planned(content: Any, planned: str | None) -> Any:
    """The content, which a stage has planned anew. Raises ConfigError where it is not what Snakemake planned."""
    if planned is not None and digest(content) != planned:
        raise ConfigError("config/ was changed after this job was planned; give the command again")
    return content


def of_item(plan: Plan, paper: str, name: str) -> dict[str, Any]:
    """The layout of a table or figure."""
    item, made = plan.papers[paper].item(name), plan.papers[paper]
    content = item.content
    common = {
        "name": name,
        "title": content.title,
        "note": content.note,
        "scale": plan.scale,
        "about_scale": plan.about,
        "kind": content.kind,
    }
    if content.kind == "analytic":
        return common
    if content.kind == "published":
        return common
    if content.kind == "settings":
        chosen = {model: made.settings[model] for model in content.models}
        steps = [f"{model} {settings.rl.steps}" for model, settings in chosen.items() if settings.rl.steps]
        settings = {model: value.model_dump(mode="json") for model, value in chosen.items()}
        return {**common, "models": content.models, "settings": settings, "steps": ", ".join(steps)}
    of_training = _of_training(plan, paper, item) if not item.evaluations and item.cells else {}
    return {**common, **_cells(plan, paper, item), **_measured(plan, paper, item), **of_training}


def of_arm(plan: Plan, paper: str, arm: str) -> dict[str, Any]:
    """The layout of one arm's statistics: a table on each model, its cells with their training seeds."""
    models = []
    for item in items_of_arm(plan, paper, arm):
        made = {**_cells(plan, paper, item), **_measured(plan, paper, item)}
        for cell, planned in zip(made["cells"], item.cells, strict=True):
            cell["seeds"] = [seed for _, seed in planned.policies]
        models.append(made)
    return {"arm": arm, "models": models}


def of_drawing(plan: Plan, paper: str, name: str) -> dict[str, Any]:
    """What drawing a figure needs beside its statistics; `arms` of the paper, for looks that are the same in all."""
    needed = ("kind", "title", "scale", "measures", "smooth", "collapse")
    layout = of_item(plan, paper, name)
    return {key: layout[key] for key in needed if key in layout} | {"arms": list(plan.papers[paper].paper.arms)}


def _of_training(plan: Plan, paper: str, item: Item) -> dict[str, Any]:
    """What is shown of the rows of runs: measures with their labels, running means, when a run has collapsed."""
    content = item.content
    runs = [plan.runs[cell.policies[0][0]] for cell in item.cells]  # of a cell, all runs differ by their seeds alone
    if isinstance(content, Table):
        labels = {cell.row.arm: cell.row.label for cell in item.cells}
        compared = {"compare_with": content.compare_with, "compare_label": labels.get(content.compare_with or "", "")}
        return {**compared, "collapse": _collapse(plan, paper)}
    made: dict[str, Any] = {"up_to_step": content.up_to_step, "smooth": content.smooth}
    if content.kind == "over_steps":
        made["measures"] = [asdict(shown(written, content.smooth)) for written in content.measures]
        made["hard_levels"] = [run.validation.about.hard_levels for run in runs]
    if content.kind == "masses":
        made["weights"] = [{"estimator": run.estimator, "shaped": run.reward.overlong_penalty > 0} for run in runs]
    if content.kind == "collapse":
        made["collapse"] = _collapse(plan, paper)
    return made


def _collapse(plan: Plan, paper: str) -> dict[str, Any]:
    return next(iter(plan.papers[paper].settings.values())).collapse.model_dump(mode="json")


def _cells(plan: Plan, paper: str, item: Item) -> dict[str, Any]:
    settings = plan.papers[paper].settings
    cells = [
        {
            "model": cell.model,
            "stand_in": plan.stand_ins.get(cell.model, cell.model),
            "arm": cell.row.arm,
            "label": cell.row.label,
            "published": cell.row.published,
            "published_model": plan.papers[paper].paper.published_name(cell.model),
            "learning_rate": cell.learning_rate,
            "policies": [policy for policy, _ in cell.policies],
            **_rates(cell),
        }
        for cell in item.cells
    ]
    statistics = next(iter(settings.values())).statistics.model_dump(mode="json")
    return {"cells": cells, "statistics": statistics}


def _rates(cell: Cell) -> dict[str, Any]:
    """At matched effort: the learning rates to choose from, and the policies at each."""
    made = [{"learning_rate": rate, "policies": [policy for policy, _ in pairs]} for rate, pairs in cell.rates]
    return {"rates": made} if made else {}


def _panels(plan: Plan, paper: str, item: Item) -> list[dict[str, Any]]:
    """Of a scored item: its benchmarks, each with the evaluation of each model, and the levels that it is over."""
    content, made = item.content, plan.papers[paper].paper
    hard = isinstance(content, Table) and content.hard_levels
    panels = []
    for i, name in enumerate(content.benchmarks or [content.benchmark]):
        evaluations = {model: ids[i] for model, ids in item.evaluations.items()}
        data = plan.evaluations[next(iter(evaluations.values()))].data
        panels.append(
            {
                "name": f"{name}, hard levels" if hard else name,
                "published": "" if hard else made.published_name(str(name)),
                "stand_in": data.name,
                "evaluations": evaluations,
                "levels": data.about.hard_levels if hard else None,
            }
        )
    return panels


def _measured(plan: Plan, paper: str, item: Item) -> dict[str, Any]:
    if not item.evaluations or not isinstance(item.content, (Table, Figure)):
        return {}
    content = item.content
    sampling = plan.evaluations[next(iter(item.evaluations.values()))[0]].sampling
    compare = content.compare_with if isinstance(content, Table) else None
    labels = {cell.row.arm: cell.row.label for cell in item.cells}
    measured: dict[str, Any] = {"panels": _panels(plan, paper, item)}
    if content.kind == "diversity":
        measured["embedding"] = plan.diversity.embedding
    return {
        **measured,
        "k": content.k,
        **({"measures": content.measures} if isinstance(content, Table) and content.measures else {}),
        "compare_with": compare,
        "compare_label": labels[compare] if compare else "",
        "sampling": f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}",
        **_selected(plan, item),
    }


def _selected(plan: Plan, item: Item) -> dict[str, Any]:
    """The methods whose checkpoints were selected, in words; nothing where all are of the last step."""
    words: dict[str, str] = {}
    for cell in item.cells:
        for policy, _ in cell.policies:
            run = plan.runs.get(policy)
            if run is not None and run.selection.rule == "best_validation":
                probed = f"{min(run.probe.problems, run.validation.problems or run.probe.problems)} problems"
                words[cell.row.label] = f"{run.validation.name} ({probed} x {run.probe.samples} samples)"
    return {"selected": words} if words else {}


def items_of_page(plan: Plan, page: str) -> list[tuple[str, str]]:
    """(paper, item): of the overview a first look, of a paper's page what is asked for of it."""
    return first_items(plan) if page == "index" else [(page, item) for item in asked_for(plan, page)]


def of_page(plan: Plan, page: str) -> dict[str, Any]:
    """The layout of a report page: its papers, tables and figures, and the policies behind each."""
    items = items_of_page(plan, page)
    papers = list(dict.fromkeys(paper for paper, _ in items))
    return {
        "page": page,
        "scale": plan.scale,
        "about_scale": plan.about,
        "stand_ins": {"models": plan.stand_ins, "data": plan.data_stand_ins},
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
                "items": [_entry(plan, paper, name) for owner, name in items if owner == paper],
            }
            for paper in papers
        ],
    }


def _in_short(plan: Plan, paper: str) -> dict[str, Any]:
    """What the overview says of a paper: how many claims, and the runs and evaluations of what is asked for."""
    made = plan.papers[paper]
    items = [made.item(name) for name in asked_for(plan, paper)]
    pairs = dict.fromkeys(pair for item in items for pair in item.scored())
    return {
        "name": paper,
        "short": made.paper.short,
        "title": made.paper.title,
        "claims": len(made.paper.claims),
        "items": len(items),
        "runs": runs_of(plan, paper),
        "evaluations": [list(pair) for pair in pairs],
    }


def _entry(plan: Plan, paper: str, name: str) -> dict[str, Any]:
    made = plan.papers[paper]
    sources = [made.item(source) for source in made.statistics_of(name)]
    cells = [cell for source in sources for cell in source.cells]
    return {
        "name": name,
        "kind": "table" if name in made.tables else "figure",
        "analytic": made.item(name).content.kind == "analytic",
        "shown": made.item(name).content.kind,
        "title": made.item(name).content.title,
        "note": made.item(name).content.note,
        "statistics": made.statistics_of(name),
        "level": next((1 - settings.statistics.confidence for settings in made.settings.values()), None),
        "policies": list(dict.fromkeys(policy for cell in cells for policy, _ in cell.candidates())),
        "manifests": {policy: plan.stage(policy) for cell in cells for policy, _ in cell.candidates()},
    }

"""Training hyper-parameters from the configuration, next to the published ones."""

from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field, field_validator

from rlvr.config.plan import Item, Plan
from rlvr.config.published import PublishedTable
from rlvr.config.schema.items import ItemConfig
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Settings
from rlvr.items import TABLES
from rlvr.items.layout import common
from rlvr.items.scope import Scope
from rlvr.tables._rendered import Rendered, scale_line
from rlvr.words import nearest


class Config(ItemConfig):
    models: list[str] = Field(min_length=1)
    reference: str  # the published table, a file of the paper's folder reference/
    rows: dict[str, str] = Field(min_length=1)  # row of the published table -> our setting

    @field_validator("rows")
    @classmethod
    def are_settings(cls, rows: dict[str, str]) -> dict[str, str]:
        sections = {name: field.annotation for name, field in Settings.model_fields.items()}
        valid = {f"{name}.{key}" for name, part in sections.items() for key in getattr(part, "model_fields", ())}
        for dotted in rows.values():
            if dotted not in valid:
                raise ValueError(f"no such setting: {dotted!r}{nearest(dotted, valid)}")
        return rows


def expand(name: str, config: Config, scope: Scope) -> Item:
    scope.models(config.models)
    return Item(TABLES, name, config)


def check_published(config: Config, file: PublishedTable, paper: Paper, place: str) -> None:
    for model in config.models:
        file.check_model(model, f"{place}.models (or published_as.{model})")
    for row in config.rows:
        file.check_method(row, f"{place}.rows")


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    config: Any = item.content
    settings_of_models = {model: plan.papers[paper].settings[model] for model in config.models}
    steps = [f"{model} {settings.rl.steps}" for model, settings in settings_of_models.items() if settings.rl.steps]
    settings = {model: value.model_dump(mode="json") for model, value in settings_of_models.items()}
    rows = [list(row) for row in config.rows.items()]  # a specification's keys are sorted, a list is not
    content = {"models": config.models, "rows": rows, "settings": settings, "steps": ", ".join(steps)}
    return {**common(item, plan), **content}


def render(layout: dict[str, Any], reference: Path) -> Rendered:
    """The table. `layout["settings"]` has the merged settings of each model, without an arm."""
    published = pd.read_csv(reference, dtype=str)
    lines, differences = [], 0
    for label, dotted in layout["rows"]:
        section, key = dotted.split(".")
        line = [label]
        for model in layout["models"]:
            value, paper = layout["settings"][model][section][key], _value(published, model, label)
            differences += paper is None or not _same(value, paper)
            line += [f"{value:g}" if isinstance(value, float) else str(value), ("" if paper is None else paper)]
        lines.append(line)
    columns = ["Hyperparameter"]
    for model in layout["models"]:
        columns += [model, f"{model} (published)"]
    count = len(layout["rows"]) * len(layout["settings"])
    notes = [f"{differences} of {count} values differ from the published ones at this scale."]
    notes += [layout["note"]] if layout["note"] else []
    if layout["steps"]:
        notes.append("Steps, where a scale sets them in place of epochs: " + layout["steps"] + ".")
    return Rendered(layout["title"], scale_line(layout), pd.DataFrame(lines, columns=columns), notes)


def _value(published: pd.DataFrame, model: str, label: str) -> str | None:
    rows = published[(published["model"].str.lower() == model) & (published["method"] == label)]
    return None if rows.empty else str(rows["value"].iloc[0])


def _same(ours: Any, paper: str) -> bool:
    try:
        return float(ours) == float(paper)
    except ValueError:
        return str(ours) == paper

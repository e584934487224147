"""Training hyper-parameters from the configuration, next to the published ones."""

from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field, field_validator

from rlvr.config.layouts import Layout
from rlvr.config.plan import Item, Plan
from rlvr.config.published import PublishedTable
from rlvr.config.schema.items import ItemConfig
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Settings
from rlvr.items import TABLES, TableKind
from rlvr.items.layout import filled
from rlvr.items.rendered import Rendered, scale_line
from rlvr.items.scope import Scope
from rlvr.suggest import nearest


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


class SettingsLayout(Layout):
    models: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]  # row of the published table, our setting
    settings: dict[str, dict[str, Any]]  # by model: its merged settings, without an arm
    steps: str


def lay_out(item: Item, plan: Plan, paper: str) -> SettingsLayout:
    config: Any = item.content
    settings = {model: plan.papers[paper].settings[model] for model in config.models}
    return filled(
        SettingsLayout,
        item,
        plan,
        paper,
        rows=tuple(config.rows.items()),
        settings={model: value.model_dump(mode="json") for model, value in settings.items()},
        steps=", ".join(f"{model} {value.rl.steps}" for model, value in settings.items() if value.rl.steps),
    )


def render(layout: SettingsLayout, reference: Path) -> Rendered:
    """The table. `layout.settings` has the merged settings of each model, without an arm."""
    published = pd.read_csv(reference, dtype=str)
    lines, differences = [], 0
    for label, dotted in layout.rows:
        section, key = dotted.split(".")
        line = [label]
        for model in layout.models:
            value, paper = layout.settings[model][section][key], _value(published, model, label)
            differences += paper is None or not _same(value, paper)
            line += [f"{value:g}" if isinstance(value, float) else str(value), ("" if paper is None else paper)]
        lines.append(line)
    columns = ["Hyperparameter"]
    for model in layout.models:
        columns += [model, f"{model} (published)"]
    count = len(layout.rows) * len(layout.settings)
    notes = [f"{differences} of {count} values differ from the published ones at this scale."]
    notes += [layout.note] if layout.note else []
    if layout.steps:
        notes.append("Steps, where a scale sets them in place of epochs: " + layout.steps + ".")
    return Rendered(layout.title, scale_line(layout), pd.DataFrame(lines, columns=columns), notes)


def _value(published: pd.DataFrame, model: str, label: str) -> str | None:
    rows = published[(published["model"].str.lower() == model) & (published["method"] == label)]
    return None if rows.empty else str(rows["value"].iloc[0])


def _same(ours: Any, paper: str) -> bool:
    try:
        return float(ours) == float(paper)
    except ValueError:
        return str(ours) == paper


TABLE = TableKind(
    config=Config,
    layout=SettingsLayout,
    expand=expand,
    lay_out=lay_out,
    render=render,
    rendered_from=("reference",),
    check_published=check_published,
)

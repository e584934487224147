"""Layouts: what the stages of a table or figure get of the plan, as files without paths.

A kind adds its own keys in a subclass. The words and looks of an item are in none of its statistics' specification
(`SHOWN`), so they have defaults.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from rlvr.config.schema.paper import PUBLISHED_WIDTH
from rlvr.config.schema.settings import Statistics


class Spec(BaseModel):
    """A part of a stage's specification."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Rate(Spec):
    """The policies of an arm at one learning rate, one per seed."""

    learning_rate: float | None
    policies: tuple[str, ...]


class Layout(Spec):
    """What every item has. `about_scale` is a sentence about the scale."""

    name: str = ""
    title: str = ""
    note: str | None = None
    scale: str = ""
    about_scale: str = ""
    kind: str


class CellLayout(Spec):
    """A model (or those with the same runs) and an arm, with its policies; a baseline's `rates` are its curve."""

    model: str
    stand_in: str
    arm: str
    label: str
    published: str | None = None  # the method's name in the published table
    published_model: str | None = None
    learning_rate: float | None = None
    policies: tuple[str, ...]
    seeds: tuple[int | None, ...] = ()  # of the policies, for single arms
    rates: tuple[Rate, ...] = ()
    reference: str | None = None  # another published table with this method


class CellsLayout(Layout):
    """An item with cells, and the settings of its statistics."""

    cells: tuple[CellLayout, ...]
    statistics: Statistics

    @property
    def confidence(self) -> float:
        return self.statistics.confidence

    def by_model(self) -> dict[str, list[CellLayout]]:
        """The cells of each model."""
        models = dict.fromkeys(cell.model for cell in self.cells)
        return {model: [cell for cell in self.cells if cell.model == model] for model in models}


class PanelLayout(Spec):
    """A benchmark, the evaluation of each model on it, and its hard levels where only these count."""

    name: str
    published: str
    stand_in: str
    evaluations: dict[str, str]
    levels: tuple[str, ...] | None


class ScoresLayout(CellsLayout):
    """An item over benchmarks: its panels, its k, its baseline, and its sampling settings in words."""

    panels: tuple[PanelLayout, ...]
    k: tuple[int, ...]
    compare_with: str | None
    compare_label: str
    sampling: str
    selected: dict[str, str] = {}  # by method, how its checkpoints were selected; none: all are from the last step
    trainers: dict[str, list[str]] = {}  # by trainer its methods, where there are several
    measures: tuple[str, ...] = ()  # of scores beside pass@k
    published_width: str = PUBLISHED_WIDTH

    @property
    def at_equal_pass_1(self) -> bool:
        return any(cell.rates for cell in self.cells)

    def sets(self) -> dict[str, str]:
        """The set of each benchmark."""
        return {panel.name: panel.stand_in for panel in self.panels}


class Looks(Spec):
    """What gives a method the same look in all figures of its paper: its arms with their colours, and swept arms."""

    arms: tuple[tuple[str, str | None], ...] = ()
    methods: dict[str, str] = {}  # a swept arm -> the arm that it varies


SHOWN = {*Layout.model_fields, *Looks.model_fields, "colors", "lines", "published", "published_width"} - {"kind"}


def numbers_of(layout: Layout) -> dict[str, Any]:
    """The keys that change numbers: without what only a table or a picture tells."""
    return layout.model_dump(mode="json", exclude=SHOWN)

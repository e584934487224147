"""Figures of training: the common keys, planning and panels of their kinds."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive, Strict
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.figures._looks import Axes, Figure, with_looks
from rlvr.items import FIGURES
from rlvr.items.layout import with_cells
from rlvr.items.scope import Scope
from rlvr.words import nearest

ACROSS = 5  # panels per row


class TrainingFigure(ItemConfig):
    """Arms over training steps."""

    models: list[str] = Field(min_length=1)
    arms: list[str] = []
    sweep: str | None = None
    repeats: Positive | None = None  # the number of seeds; default: the paper's seeds
    up_to_step: Positive | None = None

    @model_validator(mode="after")
    def has_arms(self):
        if not (self.arms or self.sweep):
            raise ValueError("arms: this key is missing; a figure of training needs arms or a sweep")
        return self


class Published(Strict):
    """A number that the paper gives of a figure: an arm's, at a part of the training steps (0 to 1)."""

    arm: str
    at: Annotated[float, Field(ge=0, le=1)]
    value: float


class WithPublished(TrainingFigure):
    """Such a figure of one model with numbers of the paper, of its first measure."""

    published: list[Published] = []

    @model_validator(mode="after")
    def has_their_arms(self):
        for i, point in enumerate(self.published):
            if point.arm not in self.arms:
                raise ValueError(
                    f"published.{i}.arm: no arm {point.arm!r} in this figure{nearest(point.arm, self.arms)}"
                )
        if self.published and len(self.models) > 1:
            raise ValueError("published: for a figure of one model")
        return self


def expand(name: str, config: Any, scope: Scope) -> Item:
    """The item: one cell per model and arm."""
    rows = [Row(arm=arm, label=scope.label_with_value(arm)) for arm in scope.arms(config)]
    return Item(FIGURES, name, config, scope.trained(config, scope.models(config.models), rows))


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    up_to_step = item.content.up_to_step  # type: ignore[attr-defined]
    numbers = [point.model_dump() for point in getattr(item.content, "published", [])]
    keys = {"up_to_step": up_to_step, **({"published": numbers} if numbers else {})}
    return {**with_cells(item, plan, paper), **with_looks(plan, paper), **keys}


def draw_published(axes: Axes, layout: dict[str, Any], arms: Iterable[str], last_step: int, styles: Any) -> None:
    """The paper's numbers of these arms as crosses."""
    for point in layout.get("published", []):
        if point["arm"] in arms:
            color = styles[point["arm"]].color
            place = ([point["at"] * last_step], [point["value"]])
            axes.plot(
                *place, "x", color=color, markersize=8, mew=2, clip_on=False, zorder=4, label="the paper's number"
            )


def panels(
    frame: pd.DataFrame, *, height: float, **shared: Any
) -> tuple[Figure, Iterator[tuple[Axes, pd.DataFrame, bool]]]:
    """One titled panel per arm, models in separate rows: (axes, data, whether it is the first of its row)."""
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(frame["model"]))
    arms = max(frame.loc[frame["model"] == model, "arm"].nunique() for model in models)
    lines = -(-arms // ACROSS)  # rows of panels per model
    across = -(-arms // lines)
    size = (max(2.5 * across + 0.6, 4.6), height * lines * len(models) + 0.9)
    figure, grid = plt.subplots(lines * len(models), across, figsize=size, squeeze=False, **shared)

    def each() -> Iterator[tuple[Axes, pd.DataFrame, bool]]:
        for number, model in enumerate(models):
            rows = frame[frame["model"] == model]
            cells = [cell for _, cell in rows.groupby("arm", sort=False)]
            places = grid[number * lines : (number + 1) * lines].flatten()
            for place, axes in enumerate(places):
                if place >= len(cells):
                    axes.set_visible(False)
                    continue
                axes.tick_params(labelbottom=True)
                title = str(cells[place]["label"].iloc[0])
                several = f"{rows['stand_in'].iloc[0]}\n" if len(models) > 1 and place % across == 0 else ""
                axes.set_title(several + title)
                yield axes, pd.DataFrame(cells[place]), place % across == 0

    return figure, each()

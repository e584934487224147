"""Figures of training: the common keys, planning and panels of their kinds."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.figures._looks import Axes, Figure, with_looks
from rlvr.items import FIGURES
from rlvr.items.layout import with_cells
from rlvr.items.scope import Scope

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


def expand(name: str, config: Any, scope: Scope) -> Item:
    """The item: one cell per model and arm."""
    rows = [Row(arm=arm, label=scope.label_with_value(arm)) for arm in scope.arms(config)]
    return Item(FIGURES, name, config, scope.trained(config, scope.models(config.models), rows))


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    up_to_step = item.content.up_to_step  # type: ignore[attr-defined]
    return {**with_cells(item, plan, paper), **with_looks(plan, paper), "up_to_step": up_to_step}


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

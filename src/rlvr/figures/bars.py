"""A score of a table's methods as bars, one group per benchmark (PACS, Figure 6)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.figures import _of_tables
from rlvr.figures._looks import Figure, legend, looks

CAPTION = "95 % intervals over {seeds} training seeds × problems (Student's t). Dotted: a blind guess."
WIDTH = 0.8  # of a group

Config, expand, lay_out = _of_tables.Config, _of_tables.expand, _of_tables.lay_out


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per model, with the smallest k of its tables."""
    import matplotlib.pyplot as plt

    frame = pd.concat(frames)
    frame = frame.loc[(frame["score"] == "pass") & (frame["k"] == frame["k"].min())]
    models, benchmarks = (list(dict.fromkeys(frame[name])) for name in ("model", "benchmark"))
    arms = [arm for arm in dict.fromkeys(frame["arm"]) if arm != "blind"]
    styles = looks(arms, layout)
    figure, grid = plt.subplots(
        1, len(models), figsize=((1.0 + 0.35 * len(arms) * len(benchmarks)) * len(models) + 1.5, 3.4), squeeze=False
    )
    for axes, model in zip(grid[0], models, strict=True):
        of = frame[frame["model"] == model].set_index(["arm", "benchmark"])
        middle = np.arange(len(benchmarks))
        for i, arm in enumerate(arms):
            rows = of.loc[[(arm, benchmark) for benchmark in benchmarks]]
            x = middle + WIDTH * ((i + 0.5) / len(arms) - 0.5)
            errors = [rows["value"] - rows["value_low"], rows["value_high"] - rows["value"]]
            label = str(rows["label"].iloc[0])
            axes.bar(x, rows["value"], WIDTH / len(arms), color=styles[arm].color, label=label)
            axes.errorbar(x, rows["value"], errors, fmt="none", ecolor="0.2", elinewidth=0.8, capsize=2)
        for place, benchmark in enumerate(benchmarks):
            if ("blind", benchmark) in of.index:
                chance = of.loc[("blind", benchmark), "value"]
                axes.hlines(chance, place - WIDTH / 2, place + WIDTH / 2, color="0.3", linestyle=":", linewidth=1)
        stand_in = str(of["stand_in"].iloc[0])
        names = [name if stand_in == model else f"{name}\nstand-in" for name in benchmarks]
        axes.set_xticks(middle, names)
        axes.set(ylabel=f"pass@{frame['k'].min()} (%)", title=stand_in)
        axes.grid(visible=False, axis="x")
    legend(figure, grid[0])
    return figure

"""A score of a table's methods as bars, one group per benchmark (PACS, Figure 6)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.figures import _scored
from rlvr.figures._looks import looks
from rlvr.figures._panels import NARROWEST, WIDTH, Figure, error_bars, grid, legend
from rlvr.statistics.table_rows import UNTRAINED

CAPTION = "95 % intervals over {seeds} training seeds × problems (Student's t). Dotted: a blind guess."
GROUP = 0.8  # of the place of a benchmark, for its bars


def draw(layout: _scored.OfTables, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per model, with the smallest k of its tables. A method's marker is at its bar's end."""
    frame = pd.concat(frames)
    frame = frame.loc[(frame["score"] == "pass") & (frame["k"] == frame["k"].min())]
    models, benchmarks = (list(dict.fromkeys(frame[name])) for name in ("model", "benchmark"))
    arms = [arm for arm in dict.fromkeys(frame["arm"]) if arm not in UNTRAINED]
    styles = looks(arms, layout)
    needed = min(WIDTH, max(NARROWEST, 1.0 + 0.3 * len(arms) * len(benchmarks)))
    figure, (block,) = grid([len(models)], height=2.3, least=needed, most=needed)
    for axes, model in zip(block, models, strict=True):
        of = frame[frame["model"] == model].set_index(["arm", "benchmark"])
        middle = np.arange(len(benchmarks))
        for i, arm in enumerate(arms):
            rows = of.loc[[(arm, benchmark) for benchmark in benchmarks]]
            x = middle + GROUP * ((i + 0.5) / len(arms) - 0.5)
            axes.bar(x, rows["value"], GROUP / len(arms), color=styles[arm].color, alpha=0.7)
            marks = {**styles[arm].point, "linestyle": "", "markeredgecolor": "0.2", "markeredgewidth": 0.5}
            label = str(rows["label"].iloc[0])
            whiskers: dict[str, Any] = {"ecolor": "0.2", "elinewidth": 0.8, "capsize": 2}
            axes.errorbar(x, rows["value"], error_bars(rows), **marks, **whiskers, label=label)
        for place, benchmark in enumerate(benchmarks):
            if ("blind", benchmark) in of.index:
                chance = of.loc[("blind", benchmark), "value"]
                axes.hlines(chance, place - GROUP / 2, place + GROUP / 2, color="0.3", linestyle=":", linewidth=1)
        stand_in = str(of["stand_in"].iloc[0])
        names = [name if stand_in == model else f"{name}\nstand-in" for name in benchmarks]
        axes.set_xticks(middle, names)
        axes.set(ylabel=f"pass@{frame['k'].min()} (%)", title=stand_in if len(models) > 1 else "")
        axes.grid(visible=False, axis="x")
    legend(figure)
    return figure


FIGURE = _scored.TablesKind(draw=draw, caption=CAPTION)

"""Pass@1 against pass@k during training, one line per method from the base policy on, on held-out probe problems.

Each method's last probe is compared with the baseline's line where that has its pass@1, by the fit of
`rlvr.statistics.frontier` over steps instead of learning rates.
"""

from typing import Any

import numpy as np
import pandas as pd
from pydantic import model_validator

from rlvr.config.layers import ConfigError
from rlvr.config.layouts import CellLayout
from rlvr.config.measures import PERCENTAGE, of_difference
from rlvr.config.plan import Item
from rlvr.config.schema.fields import Positive
from rlvr.figures import _curves_of_counts, _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import SMALL, Figure, grid, legend
from rlvr.figures.frontier import path
from rlvr.items.rows import mean_of_seeds
from rlvr.items.scope import Scope
from rlvr.statistics.frontier import Knot, OnCurve, at_pass_1
from rlvr.statistics.pass_at_k import pass_at_ks
from rlvr.statistics.run_rows import RunRows, cell_columns

CAPTION = (
    "Means over {seeds} training seeds, of the probes' held-out problems, not of a benchmark. In the legend: the last "
    "pass@k of a method minus the baseline's where that has its pass@1 (95 % intervals over seeds, Student's t). The "
    "larger a dot, the later its step."
)
PERCENT = 100.0
PASS, GAIN = "pass", "gain at equal pass@1"


class Config(_training.TrainingFigure):
    k: Positive = 8  # at most the samples of a probe, which it replaces where they are fewer
    compare_with: str  # the method whose line the others are compared with

    @model_validator(mode="after")
    def compares_with_an_arm(self):
        if self.compare_with not in self.arms:
            raise ValueError(f"compare_with: {self.compare_with!r} is none of `arms`")
        return self


def expand(name: str, config: Config, scope: Scope) -> Item:
    item = _training.expand(name, config, scope)
    samples = min(scope.plan.runs[run].probe.samples for cell in item.cells for run, _ in cell.policies)
    if samples < 2:
        raise ConfigError(f"{scope.place}.k: probes have one sample per problem (probe.samples), so only pass@1")
    content = config.model_copy(update={"k": min(config.k, samples)})
    return Item(item.folder, name, content, item.cells)


class FrontierLayout(_training.TrainingLayout):
    k: int
    compare_with: str


def statistics(layout: FrontierLayout, runs: RunRows) -> pd.DataFrame:
    """In percent: a row `pass` per model, arm, probed step and k (1 and the larger one), and per arm but the baseline a
    row `gain at equal pass@1` at the larger k, with the baseline's step; none where its line lacks the pass@1.
    """
    ks, confidence, rows = [1, layout.k], layout.confidence, []
    for of_model in layout.by_model().values():
        cells = {cell.arm: cell for cell in of_model}
        curves = {arm: _points(cell, runs, ks, layout.up_to_step) for arm, cell in cells.items()}
        baseline = curves[layout.compare_with]
        for arm, cell in cells.items():
            for point in curves[arm]:
                for k, values_S1 in zip(ks, (point.pass_1_SN, point.score_SN), strict=True):
                    rows.append(_row(cell, point.rate, PASS, k, values_S1, confidence))
            last = curves[arm][-1]
            found = at_pass_1(baseline, last.pass_1_SN) if arm != layout.compare_with else None
            if isinstance(found, OnCurve):
                rows.append(_row(cell, found.rate, GAIN, ks[-1], last.score_SN - found.score_SN, confidence))
    return pd.DataFrame(rows)


def _points(cell: CellLayout, runs: RunRows, ks: list[int], up_to: int | None) -> list[Knot]:
    """A knot (S, 1) per probed step, which is in the place of a learning rate."""
    points = []
    for step, counts in _curves_of_counts.by_seed(cell, runs, up_to):
        values_SK = PERCENT * np.array([pass_at_ks(of_seed, ks) for of_seed in counts])
        points.append(Knot(step, values_SK[:, :1], values_SK[:, 1:]))
    return points


def _row(
    cell: CellLayout, step: float | None, measure: str, k: int, values_S1: np.ndarray, confidence: float
) -> dict[str, Any]:
    possible = of_difference(PERCENTAGE) if measure == GAIN else PERCENTAGE
    numbers = mean_of_seeds(values_S1[:, 0], confidence, possible)
    return {**cell_columns(cell), "step": step, "measure": measure, "k": k, **numbers}


def draw(layout: FrontierLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one panel per model; the larger a dot, the later its step."""
    frame, k = frames[0], layout.k
    models, styles = list(dict.fromkeys(frame["model"])), looks(list(dict.fromkeys(frame["arm"])), layout)
    figure, (block,) = grid([len(models)], height=3.0, least=3.0, most=4.4)
    for axes, model in zip(block, models, strict=True):
        of_model = frame[frame["model"] == model]
        for arm, rows in of_model.groupby("arm", sort=False):
            of_k = {at: rows[(rows["measure"] == PASS) & (rows["k"] == at)] for at in (1, k)}
            x, y = (part.set_index("step")["value"] for part in of_k.values())
            path(axes, x, y, np.linspace(2.5, 6.5, len(x)), styles[str(arm)], _label(rows))
        axes.set(xlabel="pass@1 (%)", ylabel=f"pass@{k} (%)")
        if len(models) > 1:
            axes.set_title(str(of_model["stand_in"].iloc[0]))
            axes.legend(fontsize=SMALL)
    if len(models) == 1:
        legend(figure)
    return figure


def _label(rows: pd.DataFrame) -> str:
    gains = rows[rows["measure"] == GAIN]
    label = str(rows["label"].iloc[0])
    if gains.empty:
        return label
    value, low, high = gains[["value", "value_low", "value_high"]].iloc[0]
    numbers = f"{value:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
    return f"{label} {numbers}"


FIGURE = _training.TrainingKind(
    config=Config, layout=FrontierLayout, expand=expand, statistics=statistics, draw=draw, caption=CAPTION
)

"""The measured change of entropy against FADE's Eq. 7 and against only its covariance term."""

from functools import partial

import numpy as np
import pandas as pd

from rlvr.claims.part_claims import OfParts
from rlvr.config.measures import METRICS
from rlvr.config.schema.fields import Positive
from rlvr.figures import _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, error_bars, grid, legend
from rlvr.items.contrast import RUNS
from rlvr.items.layout import filled
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.run_rows import RunRows, by_seed, cell_columns, value_of

CAPTION = "Bars: 95 % intervals over {seeds} training seeds (Student's t)."
PREDICTIONS = {"eq7": "Eq. 7: (m_S − m_F) H − Cov(A, log π)", "covariance": "−Cov(A, log π) alone"}


class Config(_training.TrainingFigure):
    window: Positive = 5  # steps over which both sides are summed: one step's entropy is noisy


def measures(config: Config) -> tuple[str, ...]:
    """The measures of its claims."""
    return ("change", *PREDICTIONS, *(f"correlation_{name}" for name in PREDICTIONS), "correlation_gain")


class ChangeLayout(_training.TrainingLayout):
    window: int


def statistics(layout: ChangeLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm and measure, means over seeds with Student's t.

    `change` is the measured change of a response's entropy (nats) over training, by means of the first and last
    window; `eq7` and `covariance` are the sums of what each predicts per unit of eta; `correlation_*` are those over
    a run's windows of the measured change and a prediction; `correlation_gain` is that of the covariance term minus
    that of Eq. 7, 0 where a method has no drift term (m_S = m_F). A run shorter than two windows is cut into halves.
    """
    rows = []
    for cell in layout.cells:
        found = [_of_run(runs, run, layout.window, layout.up_to_step) for run in cell.policies]
        for measure in found[0]:
            values_S = np.array([one[measure] for one in found])
            if np.isfinite(values_S).all():
                numbers = mean_of_seeds(values_S, layout.confidence)
                rows.append({**cell_columns(cell), "measure": measure, **numbers, "by_seed": by_seed(values_S)})
    return pd.DataFrame(rows)


def _of_run(runs: RunRows, run: str, window: int, up_to: int | None) -> dict[str, float]:
    rows = [row for row in runs[run][METRICS] if up_to is None or row["step"] <= up_to]
    window = max(1, min(window, len(rows) // 2))

    def windows(name: str) -> np.ndarray:
        values = np.array([value_of(row, name, run) for row in rows], dtype=float)
        return values[: len(values) // window * window].reshape(-1, window)

    names = ("sequence_entropy", "entropy_drift", "entropy_covariance")
    entropy, drift, covariance = (windows(name).mean(axis=1) for name in names)
    predicted = {"eq7": drift - covariance, "covariance": -covariance}
    changes = np.diff(entropy)
    correlations = {name: _correlation(changes, values[:-1]) for name, values in predicted.items()}
    return {
        "change": float(entropy[-1] - entropy[0]),
        **{name: float(window * values[:-1].sum()) for name, values in predicted.items()},
        **{f"correlation_{name}": value for name, value in correlations.items()},
        "correlation_gain": correlations["covariance"] - correlations["eq7"],
    }


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation; NaN where one side does not vary, or of fewer than three windows."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def draw(layout: ChangeLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: one row per model; the measured change against the sum of each prediction, one point per arm."""
    frame = frames[0]
    models, styles = list(dict.fromkeys(frame["model"])), looks(frame["arm"], layout)
    figure, blocks = grid([2] * len(models), height=2.6, sharey="row")
    for line, model in zip(blocks, models, strict=True):
        rows = frame[frame["model"] == model]
        for axes, (name, words) in zip(line, PREDICTIONS.items(), strict=True):
            for arm, cell in rows.groupby("arm", sort=False):
                by = cell.set_index("measure")
                x, y = by.loc[[name]], by.loc[["change"]]
                point = {**styles[str(arm)].point, "linestyle": "", "elinewidth": 0.8}
                label = cell["label"].iloc[0]
                axes.errorbar(x["value"], y["value"], error_bars(y), error_bars(x), label=label, **point)
            axes.axhline(0, color="0.8", linewidth=0.8)
            axes.axvline(0, color="0.8", linewidth=0.8)
            axes.set(xlabel=f"{words},\nsum over training, per unit of η")
            axes.set_title(str(rows["stand_in"].iloc[0]) if len(models) > 1 else "")
        line[0].set_ylabel("measured change of entropy (nats)")
    legend(figure)
    return figure


CLAIMS = OfParts(
    layout=ChangeLayout,
    lay_out=partial(filled, ChangeLayout),
    statistics=statistics,
    measures=measures,
    rows=RUNS,
)
FIGURE = _training.TrainingKind(
    config=Config, layout=ChangeLayout, statistics=statistics, claims=CLAIMS.kind(), draw=draw, caption=CAPTION
)

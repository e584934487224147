"""Entropy at the end of training against the ratio of the weights' masses, over methods (FADE, Figure 4)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.measures import METRICS
from rlvr.figures import _training
from rlvr.figures._looks import Figure, legend, looks
from rlvr.statistics.intervals import over_seeds
from rlvr.statistics.run_rows import Runs, cell_columns, value_of

CAPTION = "Bars: 95 % intervals over {seeds} training seeds (Student's t)."
LATE = 0.9  # the part of training from which values are means
RATIOS = {
    "ratio": "m_S p / (m_F q), the paper's Table 7",
    "ratio_of_weights": "m_S q / (m_F p), the ratio of mean weights",
}
Config = _training.TrainingFigure
expand, lay_out = _training.expand, _training.lay_out


def statistics(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row per model, arm and measure: entropy of the last tenth of training, and both ratios over the whole of it.

    Masses and solve rates are as realised. An arm without negative (or positive) mass has no ratio. `rank_correlation`
    is Spearman's, of entropy and the ratio over the arms of a model, with Student's t over seeds, cut at -1 and 1.
    """
    from scipy.stats import spearmanr

    rows = []
    for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
        cells = [cell for cell in layout["cells"] if cell["model"] == model]
        values = {cell["arm"]: [_of_run(runs, run, layout["up_to_step"]) for run in cell["policies"]] for cell in cells}
        for cell in cells:
            for measure in ("entropy", *RATIOS):
                numbers_S = np.array([one[measure] for one in values[cell["arm"]]])
                if np.isfinite(numbers_S).all():
                    interval = over_seeds(numbers_S, layout["statistics"]["confidence"])
                    rows.append(
                        {
                            **{**cell_columns(cell), "measure": measure, "value": interval.estimate},
                            **{"value_low": interval.low, "value_high": interval.high, "seeds": numbers_S.size},
                        }
                    )
        for name in RATIOS:
            known = [cell["arm"] for cell in cells if all(np.isfinite(one[name]) for one in values[cell["arm"]])]
            seeds = min(len(values[arm]) for arm in known) if known else 0
            if len(known) < 3:
                continue
            rho_S = np.array(
                [
                    spearmanr([values[a][s][name] for a in known], [values[a][s]["entropy"] for a in known]).statistic  # type: ignore[attr-defined]
                    for s in range(seeds)
                ]
            )
            interval = over_seeds(rho_S, layout["statistics"]["confidence"])
            rows.append(
                {
                    **{**cell_columns(cells[0]), "arm": "", "label": "", "policies": ""},
                    **{"measure": f"rank_correlation of {name}", "value": interval.estimate},
                    **{"value_low": max(-1.0, interval.low), "value_high": min(1.0, interval.high), "seeds": seeds},
                }
            )
    return pd.DataFrame(rows)


def _of_run(runs: Runs, run: str, up_to: int | None) -> dict[str, float]:
    rows = [row for row in runs[run][METRICS] if up_to is None or row["step"] <= up_to]
    last = rows[-1]["step"]
    late = [row for row in rows if row["step"] >= LATE * last]
    positive, negative, p = (
        float(np.mean([value_of(row, name, run) for row in rows]))
        for name in ("positive_mass", "negative_mass", "pass_rate")
    )
    possible = negative > 0 and positive > 0 and 0 < p < 1
    return {
        "entropy": float(np.mean([value_of(row, "entropy", run) for row in late])),
        "ratio": positive * p / (negative * (1 - p)) if possible else float("nan"),
        "ratio_of_weights": positive * (1 - p) / (negative * p) if possible else float("nan"),
    }


def draw(layout: dict[str, Any], frames: list[pd.DataFrame]) -> Figure:
    """The figure: one row per model, one column per ratio, one point per arm."""
    import matplotlib.pyplot as plt

    frame = frames[0].fillna({"arm": "", "label": ""})
    models = list(dict.fromkeys(frame["model"]))
    arms = frame[frame["arm"] != ""]
    styles = looks(arms["arm"], layout)
    figure, grid = plt.subplots(len(models), len(RATIOS), figsize=(9.4, 3.3 * len(models) + 0.9), squeeze=False)
    for line, model in zip(grid, models, strict=True):
        for axes, (name, words) in zip(line, RATIOS.items(), strict=True):
            rows = arms[arms["model"] == model]
            for arm, cell in rows.groupby("arm", sort=False):
                by = cell.set_index("measure")
                if name in by.index:
                    y = by.loc["entropy"]
                    error = [[y["value"] - y["value_low"]], [y["value_high"] - y["value"]]]
                    axes.errorbar(
                        [by.loc[name, "value"]], [y["value"]], yerr=error, fmt="o", color=styles[str(arm)].color,
                        label=cell["label"].iloc[0],
                    )  # fmt: skip
            rho = frame[(frame["model"] == model) & (frame["measure"] == f"rank_correlation of {name}")]
            found = (
                "" if rho.empty else f"\nSpearman {rho['value'].iloc[0]:+.2f} [{rho['value_low'].iloc[0]:+.2f}, "
                f"{rho['value_high'].iloc[0]:+.2f}]"
            )  # fmt: skip
            axes.set_title(f"{rows['stand_in'].iloc[0]}{found}")
            axes.set_xscale("log")
            axes.set(xlabel=words, ylabel="entropy, last tenth (nats)")
    legend(figure, grid.flat)
    return figure

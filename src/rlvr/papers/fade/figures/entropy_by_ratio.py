"""Entropy at the end of training against the ratio of the weights' masses, and against held-out pass@k and learning
speed, over methods (FADE, Figure 4)."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.claims.estimates import SEEDS, Found, estimated, of_runs
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import CORRELATION, METRICS, PROBE
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.figures import _curves_of_counts, _training
from rlvr.figures._looks import looks
from rlvr.figures._panels import Figure, error_bars, grid, legend
from rlvr.items.contrast import ClaimKind, ClaimSpec, ContrastSpec, Estimate, Evidence, NotComparable
from rlvr.items.rows import mean_of_seeds
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.pass_at_k import pass_at_ks
from rlvr.statistics.run_rows import RunRows, cell_columns, in_range, value_of

CAPTION = "Bars: 95 % intervals over {seeds} training seeds (Student's t)."
LATE = 0.9  # the part of training from which values are means
AGAINST = {
    "ratio": "m_S p / (m_F q), the paper's Table 7",
    "ratio_of_weights": "m_S q / (m_F p), the ratio of mean weights",
    "pass_at_most": "held-out pass@k at the end, largest k of the probes",
    "speed": "gain of held-out pass@1, mean over training",
}
RATIOS = ("ratio", "ratio_of_weights")  # on logarithmic axes


def statistics(layout: _training.TrainingLayout, runs: RunRows) -> pd.DataFrame:
    """One row per model, arm and measure: entropy of the last tenth of training, and both ratios over the whole of it.

    Masses and solve rates are as realised. An arm without negative (or positive) mass has no ratio. `pass_at_most` is
    of the last probe, at a k of all its samples; `speed` is the mean pass@1 of the probes after the base policy's,
    less its own. `rank_correlation` is Spearman's, of entropy and another measure over the arms of a model, with
    Student's t over seeds, cut at -1 and 1.
    """
    rows = []
    for cells in layout.by_model().values():
        values = {cell.arm: [_of_run(runs, run, layout.up_to_step) for run in cell.policies] for cell in cells}
        for cell in cells:
            for measure in ("entropy", *AGAINST):
                numbers_S = np.array([one[measure] for one in values[cell.arm]])
                if np.isfinite(numbers_S).all():
                    numbers = mean_of_seeds(numbers_S, layout.confidence)
                    rows.append({**cell_columns(cell), "measure": measure, **numbers})
        for name in AGAINST:
            known = [cell.arm for cell in cells if all(np.isfinite(one[name]) for one in values[cell.arm])]
            if len(known) < 3:
                continue
            by_seed = zip(*(values[arm] for arm in known), strict=False)  # of as many seeds as every arm has
            rho_S = [_spearman([(one[name], one["entropy"]) for one in arms]) for arms in by_seed]
            if np.isnan(rho_S).any():
                continue  # all arms have one value
            head = {**cell_columns(cells[0]), "arm": "", "label": "", "policies": ""}
            numbers = mean_of_seeds(rho_S, layout.confidence, CORRELATION)
            rows.append({**head, "measure": f"rank_correlation of {name}", **numbers})
    return pd.DataFrame(rows)


def _spearman(pairs: list[tuple[float, float]]) -> float:
    """Spearman's rank correlation; NaN where one side does not vary."""
    from scipy.stats import spearmanr

    x, y = np.array(pairs).T
    return float("nan") if not (np.ptp(x) and np.ptp(y)) else float(spearmanr(x, y).statistic)  # type: ignore[attr-defined]


def _of_run(runs: RunRows, run: str, up_to: int | None) -> dict[str, float]:
    rows = [row for row in runs[run][METRICS] if up_to is None or row["step"] <= up_to]
    last = rows[-1]["step"]
    late = [row for row in rows if row["step"] >= LATE * last]
    positive, negative, p = (
        float(np.mean([value_of(row, name, run) for row in rows]))
        for name in ("positive_mass", "negative_mass", "pass_rate")
    )
    curves = _curves_of_counts.counts_by_step(runs, run)
    steps = in_range(sorted(curves), up_to)
    last_counts = curves[steps[-1]]
    rates = [pass_at_ks(curves[step], [1])[0] for step in steps]
    possible = negative > 0 and positive > 0 and 0 < p < 1
    return {
        "entropy": float(np.mean([value_of(row, "entropy", run) for row in late])),
        "ratio": positive * p / (negative * (1 - p)) if possible else float("nan"),
        "ratio_of_weights": positive * (1 - p) / (negative * p) if possible else float("nan"),
        "pass_at_most": float(pass_at_ks(last_counts, [len(last_counts) - 1])[0]),
        "speed": float(np.mean(rates[1:]) - rates[0]) if len(rates) > 1 else float("nan"),
    }


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: per model a panel per measure, one point per arm."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    frame = frames[0].fillna({"arm": "", "label": ""})
    models = list(dict.fromkeys(frame["model"]))
    arms = frame[frame["arm"] != ""]
    styles = looks(arms["arm"], layout)
    figure, blocks = grid([len(AGAINST)] * len(models), height=2.5, least=3.0)
    for line, model in zip(blocks, models, strict=True):
        for axes, (name, words) in zip(line, AGAINST.items(), strict=True):
            rows = arms[arms["model"] == model]
            for arm, cell in rows.groupby("arm", sort=False):
                by = cell.set_index("measure")
                if name in by.index:
                    x, y = by.loc[[name]], by.loc[["entropy"]]
                    point = {**styles[str(arm)].point, "linestyle": "", "elinewidth": 0.8}
                    axes.errorbar(x["value"], y["value"], error_bars(y), label=cell["label"].iloc[0], **point)
            titles = [rows["stand_in"].iloc[0]] if len(models) > 1 else []
            rho = frame[(frame["model"] == model) & (frame["measure"] == f"rank_correlation of {name}")]
            for value, low, high in rho[["value", "value_low", "value_high"]].to_numpy():
                titles.append(f"Spearman {value:+.2f} [{low:+.2f}, {high:+.2f}]")
            axes.set_title(", ".join(titles))
            if name in RATIOS:
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set(xlabel=words, ylabel="entropy, last tenth (nats)")
    legend(figure)
    return figure


# ---- claims ----------------------------------------------------------------------------------------

STRENGTH = "strength of the "  # the absolute value of a correlation
MEASURES = {f"{prefix}correlation with {name}": name for name in AGAINST for prefix in ("", STRENGTH)}


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim is not of a correlation over three arms or more, each with the same weight."""
    look_up(MEASURES, claim.measure or "", "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "not_below") or len(claim.weights) < 3 or len({*claim.weights.values()}) > 1:
        raise ConfigError(f"{place}: a correlation is over arms: `weights` with three or more, all 1 (or all -1)")


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Spearman's correlation of entropy and another measure over a claim's arms, with Student's t over seeds."""
    measure, found = str(claim.measure), []
    for contrast in contrasts:
        runs = RunRows({run: {PROBE: inputs.probes[run], METRICS: rows} for run, rows in inputs.metrics.items()})
        by_arm = [[_of_run(runs, run, None) for run in term.policies] for term in contrast.terms]
        pairs = [[(one[MEASURES[measure]], one["entropy"]) for one in arms] for arms in zip(*by_arm, strict=False)]
        rho_S = np.array([_spearman(of_seed) for of_seed in pairs])
        if not np.isfinite(rho_S).all():
            found.append(NotComparable("all arms have one value, or an arm has none"))
            continue
        rho_S = np.sign(contrast.terms[0].weight) * (np.abs(rho_S) if measure.startswith(STRENGTH) else rho_S)
        cell = ScoreCell(rho_S[:, None], contrast.model, None)
        found.append(Found(cell, len(rho_S), None, SEEDS, CORRELATION))
    return estimated(found, claim)


CLAIMS = ClaimKind(
    what="a figure of correlations over methods",
    check=check,
    contrasts=lambda claim, item, ks: of_runs(f"{claim.measure}, over {{}}", claim, item),
    estimates=estimates,
)

FIGURE = _training.TrainingKind(statistics=statistics, draw=draw, caption=CAPTION, claims=CLAIMS)

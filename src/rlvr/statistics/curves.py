"""Stage: statistics. From the rows of runs, of probes and of training batches, to what happens over training.

One function a kind of item; each gives a frame with the columns of `cell_columns`, and intervals over seeds.
"""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr.config.measures import HARD, METRICS
from rlvr.files import publish, read_lines
from rlvr.statistics.collapse import collapse_curves, collapse_table
from rlvr.statistics.intervals import over_seeds
from rlvr.statistics.masses import masses
from rlvr.statistics.run_rows import Runs, cell_columns, in_range, running_mean, value_of

# Shares of prompts by their number of correct responses c of G; a group belongs to the first that holds it.
BINS: dict[str, Callable[[int, int], bool]] = {
    "0": lambda c, rollouts: c == 0,
    "1": lambda c, rollouts: c == rollouts,
    "(0, 1/4]": lambda c, rollouts: 4 * c <= rollouts,
    "(1/4, 1/2]": lambda c, rollouts: 2 * c <= rollouts,
    "(1/2, 1)": lambda c, rollouts: True,
}
IN_ORDER = ("0", "(0, 1/4]", "(1/4, 1/2]", "(1/2, 1)", "1")


def over_steps(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row a model, arm, measure and step; a measure that no seed has at a step is left out."""
    rows = []
    for cell, hard_levels in zip(layout["cells"], layout["hard_levels"], strict=True):
        for measure in layout["measures"]:
            smooth = layout["smooth"] if measure["rows"] == METRICS else None
            series = [_series(runs, run, measure, hard_levels, smooth) for run in cell["policies"]]
            for step in in_range(sorted({step for values in series for step in values}), layout["up_to_step"]):
                known = np.array([s[step] for s in series if not math.isnan(s.get(step, math.nan))])
                if known.size:
                    interval = over_seeds(known, layout["statistics"]["confidence"])
                    rows.append(
                        {
                            **cell_columns(cell),
                            "step": step,
                            "measure": measure["written"],
                            "value": interval.estimate,
                            "value_low": interval.low,
                            "value_high": interval.high,
                            "seeds": known.size,
                        }
                    )
    return pd.DataFrame(rows)


def _series(
    runs: Runs, run: str, measure: dict[str, Any], hard_levels: list[str], smooth: int | None
) -> dict[int, float]:
    rows = runs[run][measure["rows"]]
    values = [
        _hard(row, hard_levels, run) if measure["name"] == HARD else value_of(row, measure["name"], run) for row in rows
    ]
    return dict(zip((row["step"] for row in rows), running_mean(values, smooth) if smooth else values, strict=True))


def _hard(row: dict[str, Any], hard_levels: list[str], run: str) -> float:
    """The pass rate over all problems of the hard levels. Raises ValueError where the run was probed on none."""
    rates, counts = value_of(row, "pass_rate_by_level", run), value_of(row, "problems_by_level", run)
    own = [level for level in rates if level in hard_levels]
    if not own:
        raise ValueError(f"{run}: no held-out problem is of the levels {hard_levels}; they are of {list(rates)}")
    return sum(rates[level] * counts[level] for level in own) / sum(counts[level] for level in own)


def solve_rates(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """One row a model, arm, step and bin of solve rates: the share of the prompts drawn, as a mean over seeds."""
    rows = []
    for cell in layout["cells"]:
        found: dict[tuple[int, str], list[float]] = {}
        for run in cell["policies"]:
            for step, shares in _binned(runs, run, layout["smooth"]):
                for name, share in shares.items():
                    found.setdefault((step, name), []).append(share)
        steps = in_range(sorted({step for step, _ in found}), layout["up_to_step"])
        rows += [
            {
                **cell_columns(cell),
                "step": step,
                "measure": "solve_rates",
                "bin": name,
                "value": float(np.mean(found[step, name])),
                "seeds": len(found[step, name]),
            }
            for step in steps
            for name in IN_ORDER
            if (step, name) in found
        ]
    return pd.DataFrame(rows)


def _binned(runs: Runs, run: str, smooth: int | None) -> list[tuple[int, dict[str, float]]]:
    """Each step's shares of prompts by bin; bins that no number of correct responses falls into are left out."""
    rows = runs[run][METRICS]
    counts = np.array([value_of(row, "solve_rates", run) for row in rows], dtype=float)
    rollouts = counts.shape[1] - 1
    of_number = [next(name for name, holds in BINS.items() if holds(c, rollouts)) for c in range(rollouts + 1)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    columns = {name: shares[:, [of == name for of in of_number]].sum(axis=1) for name in dict.fromkeys(of_number)}
    smoothed = {name: running_mean(list(s), smooth) if smooth else list(s) for name, s in columns.items()}
    return [(row["step"], {name: values[i] for name, values in smoothed.items()}) for i, row in enumerate(rows)]


def collapse(layout: dict[str, Any], runs: Runs) -> pd.DataFrame:
    """Of a table the runs that collapsed; of a figure every run's unsolved prompts."""
    return collapse_table(layout, runs) if "compare_with" in layout else collapse_curves(layout, runs)


KINDS: dict[str, Callable[[dict[str, Any], Runs], pd.DataFrame]] = {
    function.__name__: function for function in (over_steps, solve_rates, masses, collapse)
}


def main(
    layout: Annotated[str, typer.Option(help="What the figure or table is made of, as JSON.")],
    rows: Annotated[list[Path], typer.Argument(help="probe.jsonl and metrics.jsonl of runs, in folders named so.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
) -> None:
    """Compute what happens over training."""
    content, runs = json.loads(layout), Runs.of((path.parent.name, path.stem, read_lines(path)) for path in rows)
    publish(out, KINDS[content["kind"]](content, runs).to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

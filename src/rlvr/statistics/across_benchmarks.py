"""Stage: statistics. From the scores of runs on several benchmarks to one row a method: mean, IQM, differences."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr.config.schema import Statistics
from rlvr.records import publish
from rlvr.statistics.aggregate import Aggregate, Matrix, RunsAndProblemsByBenchmark, iqm, mean
from rlvr.statistics.scored_table import NOT_PUBLISHED, head, holm, numbers, sizes
from rlvr.statistics.scores import matrix, pass_at, problems_of, read, units_of

AGGREGATES: dict[str, Aggregate] = {"mean": mean, "iqm": iqm}
Scores = dict[tuple[str, str], pd.DataFrame]  # by policy and evaluation


def summarise(layout: dict[str, Any], scores: Scores) -> pd.DataFrame:
    """One row a model, method, k and aggregate (mean, iqm) of pass@k over the benchmarks, in percent.

    `layout` is as for a pass@k table, with `benchmarks`: for each its name and the evaluation of each model. Holm's
    correction is over all differences of the table.
    """
    settings = Statistics.model_validate(layout["statistics"])
    names = ", ".join(benchmark["name"] for benchmark in layout["benchmarks"])
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
        cells = [cell for cell in layout["cells"] if cell["model"] == model]
        evaluations = [benchmark["evaluations"][model] for benchmark in layout["benchmarks"]]
        problems = [_problems(scores, cells, evaluation) for evaluation in evaluations]
        firsts = [scores[cells[0]["policies"][0], evaluation] for evaluation in evaluations]
        units = [int(units_of(first).max()) + 1 for first in firsts]
        bootstrap = RunsAndProblemsByBenchmark(
            max(len(cell["policies"]) for cell in cells),
            units,
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(settings.seed),
        )
        baseline = next((cell for cell in cells if cell["arm"] == layout["compare_with"]), None)
        size = {"problems": sum(map(len, problems)), "clusters": sum(units)}
        size["samples"] = min(int(first["n"].min()) for first in firsts)
        for cell in cells:
            for k in layout["k"]:
                own = _matrices(scores, cell, evaluations, k)
                against = None if baseline in (None, cell) else _matrices(scores, baseline, evaluations, k)
                for name, aggregate in AGGREGATES.items():
                    difference = None if against is None else bootstrap.of_difference(aggregate, own, against)
                    row = {**head(cell, names, name, k), **numbers(bootstrap.of(aggregate, own), difference)}
                    rows.append({**row, **NOT_PUBLISHED, **sizes(cell, **size), "minus_published": None})
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def _problems(scores: Scores, cells: list[dict[str, Any]], evaluation: str) -> list[str]:
    policies = [policy for cell in cells for policy in cell["policies"]]
    return problems_of([scores[policy, evaluation] for policy in policies], policies)


def _matrices(scores: Scores, cell: dict[str, Any], evaluations: list[str], k: int) -> list[Matrix]:
    """pass@k (S, C) on each benchmark."""
    return [matrix([scores[policy, e] for policy in cell["policies"]], pass_at(k)) for e in evaluations]


def main(
    layout: Annotated[str, typer.Option(help="What the table is made of, as JSON.")],
    scores: Annotated[list[Path], typer.Argument(help="scores.csv of every policy on every benchmark.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
) -> None:
    """Compute a table over several benchmarks."""
    frames = [read(path) for path in scores]
    by_pair = {(str(frame["policy"].iloc[0]), str(frame["evaluation"].iloc[0])): frame for frame in frames}
    table = summarise(json.loads(layout), by_pair)
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

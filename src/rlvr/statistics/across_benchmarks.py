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

from rlvr.config.schema.settings import Statistics
from rlvr.files import publish
from rlvr.statistics.aggregate import Aggregate, Matrix, RunsAndProblemsByBenchmark, iqm, mean
from rlvr.statistics.scored_table import NOT_PUBLISHED, blocks, frames_of, head, holm, numbers, sizes
from rlvr.statistics.scores import Scores, matrix, pass_at, read_all, units_of

AGGREGATES: dict[str, Aggregate] = {"mean": mean, "iqm": iqm}


def summarise(layout: dict[str, Any], scores: Scores) -> pd.DataFrame:
    """One row a model, method, k and aggregate (mean, iqm) of pass@k over the benchmarks, in percent.

    `layout` is as for a pass@k table. Holm's correction is over all differences of the table.
    """
    settings = Statistics.model_validate(layout["statistics"])
    names = ", ".join(panel["name"] for panel in layout["panels"])
    rows = []
    for _, cells, baseline in blocks({**layout, "panels": layout["panels"][:1]}):
        evaluations = [panel["evaluations"][cells[0]["model"]] for panel in layout["panels"]]
        by_benchmark = [frames_of(scores, cells, evaluation) for evaluation in evaluations]
        firsts = [frames[cells[0]["policies"][0]] for frames in by_benchmark]
        units = [int(units_of(first).max()) + 1 for first in firsts]
        bootstrap = RunsAndProblemsByBenchmark(
            max(len(cell["policies"]) for cell in cells),
            units,
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(settings.seed),
        )
        size = {"problems": sum(map(len, firsts)), "clusters": sum(units)}
        size["samples"] = min(int(first["n"].min()) for first in firsts)
        for cell in cells:
            for k in layout["k"]:
                own = _matrices(by_benchmark, cell, k)
                against = None if baseline in (None, cell) else _matrices(by_benchmark, baseline, k)
                for name, aggregate in AGGREGATES.items():
                    difference = None if against is None else bootstrap.of_difference(aggregate, own, against)
                    row = {**head(cell, names, name, k), **numbers(bootstrap.of(aggregate, own), difference)}
                    rows.append({**row, **NOT_PUBLISHED, **sizes(cell, **size), "minus_published": None})
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def _matrices(by_benchmark: list[dict[str, pd.DataFrame]], cell: dict[str, Any], k: int) -> list[Matrix]:
    """pass@k (S, C) on each benchmark."""
    return [matrix([frames[policy] for policy in cell["policies"]], pass_at(k)) for frames in by_benchmark]


def main(
    layout: Annotated[str, typer.Option(help="What the table is made of, as JSON.")],
    scores: Annotated[list[Path], typer.Argument(help="scores.csv of every policy on every benchmark.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
) -> None:
    """Compute a table over several benchmarks."""
    table = summarise(json.loads(layout), read_all(scores))
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

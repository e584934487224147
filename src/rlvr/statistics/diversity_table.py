"""Stage: statistics. From the diversity of runs' completions to a table: S_div, distinct solutions, answer entropy."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportReturnType=false
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
from rlvr.statistics.intervals import SeedsAndKnownProblems
from rlvr.statistics.scored_table import blocks, frames_of, head, holm, numbers, published, sizes
from rlvr.statistics.scores import Measure, Scores, matrix, read_all, units_of

MEASURES = ("s_div", "distinct_at_m", "answer_entropy")


def summarise(layout: dict[str, Any], scores: Scores, reference: pd.DataFrame | None) -> pd.DataFrame:
    """One row a model, method and measure, in the measure's own unit; k is m for distinct solutions, else 0.

    A problem without a value (fewer than 2 correct samples, or than m) is left out of its seed's mean; `known` is
    the number of problems with one, averaged over seeds, and `cut_share` the share of embedded responses that
    the encoder did not read to their end. Holm's correction is over all differences of the table.
    """
    settings = Statistics.model_validate(layout["statistics"])
    rows = []
    for panel, cells, baseline in blocks(layout):
        frames = frames_of(scores, cells, panel["evaluations"][cells[0]["model"]], panel["levels"])
        first = frames[cells[0]["policies"][0]]
        units = int(units_of(first).max()) + 1
        bootstrap = SeedsAndKnownProblems(
            max(len(cell["policies"]) for cell in cells),
            units,
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(settings.seed),
        )
        size = {"problems": len(first), "clusters": units, "samples": int(first["n"].min())}
        for cell in cells:
            own, other = ([frames[policy] for policy in c["policies"]] if c else [] for c in (cell, baseline))
            for name in MEASURES:
                values_SC = matrix(own, _column(name))
                against = None if baseline in (None, cell) else matrix(other, _column(name))
                difference = None if against is None else bootstrap.of_difference(values_SC, against)
                row = {
                    **head(cell, panel["name"], name, int(first["m"].iloc[0]) if name == "distinct_at_m" else 0),
                    **numbers(bootstrap.of(values_SC), difference, unit=1.0),
                    **published(reference if name == "s_div" else None, cell, f"{panel['published']} S_div", None),
                    **sizes(cell, **size),
                    "known": float(np.mean([frame[name].notna().sum() for frame in own])),
                    "cut_share": _cut_share(own),
                }
                row["minus_published"] = row["value"] - row["published"] if row["published"] is not None else None
                rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(difference_p_holm=holm(frame["difference_p"]))


def _column(name: str) -> Measure:
    return lambda frame: frame[name].to_numpy(dtype=float)


def _cut_share(frames: list[pd.DataFrame]) -> float:
    embedded = sum(int(frame.loc[frame["s_div"].notna(), "correct"].sum()) for frame in frames)
    return sum(int(frame["cut"].sum()) for frame in frames) / embedded if embedded else float("nan")


def main(
    layout: Annotated[str, typer.Option(help="What the table is made of, as JSON.")],
    scores: Annotated[list[Path], typer.Argument(help="diversity.csv of every policy in the table.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
    reference: Annotated[Path | None, typer.Option(help="CSV with the published values.")] = None,
) -> None:
    """Compute a table of diversity."""
    table = summarise(json.loads(layout), read_all(scores), pd.read_csv(reference) if reference else None)
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

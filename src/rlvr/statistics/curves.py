"""Stage: statistics. From the probes of runs to curves over training steps, with intervals over seeds."""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# (pandas' own annotations leave open whether a column is a series)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr.records import publish, read_lines
from rlvr.statistics.intervals import over_seeds

MEASURES = ("oef", "overconfidence_mean", "overconfidence_sum", "entropy", "entropy_decision", "pass_rate", "all_wrong")


def summarise(layout: dict[str, Any], probes: dict[str, pd.DataFrame], up_to_step: int | None) -> pd.DataFrame:
    """One row a model, method, measure and step; a measure that no seed has at a step is left out."""
    rows = []
    for cell in layout["cells"]:
        steps = sorted({step for policy in cell["policies"] for step in probes[policy]["step"]})
        for step in steps if up_to_step is None else [s for s in steps if s <= up_to_step]:
            for measure in MEASURES:
                values = [_value(probes[policy], step, measure) for policy in cell["policies"]]
                known = np.array([value for value in values if not np.isnan(value)])
                if known.size:
                    interval = over_seeds(known, layout["statistics"]["confidence"])
                    rows.append(
                        {
                            "model": cell["model"],
                            "stand_in": cell["stand_in"],
                            "arm": cell["arm"],
                            "label": cell["label"],
                            "step": step,
                            "measure": measure,
                            "value": interval.estimate,
                            "value_low": interval.low,
                            "value_high": interval.high,
                            "seeds": known.size,
                            "policies": " ".join(cell["policies"]),
                        }
                    )
    return pd.DataFrame(rows)


def _value(frame: pd.DataFrame, step: int, measure: str) -> float:
    found = frame.loc[frame["step"] == step, measure]
    return float("nan") if found.empty or found.iloc[0] is None else float(found.iloc[0])


def main(
    layout: Annotated[str, typer.Option(help="What the figure is made of, as JSON.")],
    probes: Annotated[list[Path], typer.Argument(help="probe.jsonl of every run, in a folder named after it.")],
    out: Annotated[Path, typer.Option(help="CSV to write.")],
    up_to_step: Annotated[int | None, typer.Option(help="Leave out later steps.")] = None,
) -> None:
    """Compute curves over training."""
    frames = {path.parent.name: pd.DataFrame(list(read_lines(path))) for path in probes}
    table = summarise(json.loads(layout), frames, up_to_step)
    publish(out, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

"""Stage: statistics. One arm: pass@k per training seed, the difference from a baseline, both over seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import stage_options
from rlvr.config.layouts import CellLayout, PanelLayout, ScoresLayout
from rlvr.files import publish, read_json
from rlvr.statistics.scores import Scores, matrix, pass_at, read_all
from rlvr.statistics.table_rows import PERCENT, UNTRAINED, frames_of, pass_at_k_rows

OVER_SEEDS = "all"  # in the column `seed`
INTERVALS = ("value_low", "value_high", "difference_low", "difference_high", "difference_p")
COLUMNS = (
    *("model", "stand_in", "arm", "learning_rate", "benchmark", "k", "seed", "value", "value_low", "value_high"),
    *("compare_with", "difference", "difference_low", "difference_high", "difference_p"),
    *("seeds", "problems", "clusters", "n", "policies"),
)


def of_arm(models: Sequence[ScoresLayout], scores: Scores) -> pd.DataFrame:
    """Per model, benchmark and k, one row per training seed, then one over seeds; in percent.

    `difference` is from the baseline's run of the same seed. The row over seeds equals that of a table of both arms,
    with intervals over seeds and problems (`rlvr.statistics.table_rows`). Rows of single runs have no intervals. Where
    the chance of blind guesses is known, they have a row (arm `blind`, 0 seeds), and so has a lookup.
    """
    tables = [_of_model(part, scores) for part in models]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def _of_model(part: ScoresLayout, scores: Scores) -> pd.DataFrame:
    arm = part.cells[0].arm
    table = pass_at_k_rows(part, scores, None)
    table = table.rename(columns={"samples": "n"}).assign(seed=OVER_SEEDS, compare_with=None)
    pooled, untrained = table[table["arm"] == arm], table[table["arm"].isin(list(UNTRAINED))]
    rows = [row for _, over in pooled.iterrows() for row in (*_of_seeds(part, scores, over), dict(over))]
    own = pd.DataFrame(rows).assign(compare_with=part.compare_with)
    return pd.concat([own, *([untrained] if len(untrained) else [])])


def _of_seeds(part: ScoresLayout, scores: Scores, over: pd.Series) -> list[dict[str, Any]]:
    """The rows of single training seeds. A policy without a seed has none."""
    panel = next(panel for panel in part.panels if panel.name == over["benchmark"])
    values = [_values(cell, panel, scores, over["k"]) for cell in part.cells]
    rows = []
    for (seed, policy), value in zip(values[0], values[0].values(), strict=True):
        if seed is None:
            continue
        others = [value for other in values[1:] for (of_seed, _), value in other.items() if of_seed == seed]
        difference = value - others[0] if others else None
        blank = dict.fromkeys(INTERVALS)
        row = {"seed": seed, "value": value, "difference": difference, "seeds": 1, "policies": policy}
        rows.append({**over, **blank, **row})
    return rows


def _values(cell: CellLayout, panel: PanelLayout, scores: Scores, k: int) -> dict[tuple[Any, str], float]:
    """pass@k in percent by training seed and policy."""
    frames = frames_of(scores, [cell], panel.evaluations[cell.model])
    means = PERCENT * matrix([frames[policy] for policy in cell.policies], pass_at(k)).mean(axis=1)
    return dict(zip(zip(cell.seeds, cell.policies, strict=True), map(float, means), strict=True))


def counts_of_arm(models: Sequence[ScoresLayout], scores: Scores) -> pd.DataFrame:
    """The scores of the arm's runs, one row per run and problem."""
    pairs = [
        (policy, evaluation)
        for part in models
        for panel in part.panels
        for evaluation in panel.evaluations.values()
        for policy in part.cells[0].policies
    ]
    return pd.concat([scores[pair] for pair in dict.fromkeys(pairs)], ignore_index=True)


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[Path, typer.Option(help="CSV to write.")],
    counts: Annotated[Path, typer.Option(help="CSV to write: counts per problem.")],
) -> None:
    """Compute pass@k of one arm."""
    content = read_json(spec)
    frames = read_all([results / name for name in content["scores"]])
    models = [ScoresLayout.model_validate(part) for part in content["models"]]
    publish(out, of_arm(models, frames).to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    publish(counts, counts_of_arm(models, frames).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)

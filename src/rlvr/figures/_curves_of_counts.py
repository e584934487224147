"""pass@k and fits at the probed steps of runs, from their numbers of problems by correct responses."""

from collections.abc import Iterator

import numpy as np

from rlvr.config.layouts import CellLayout
from rlvr.config.measures import PROBE
from rlvr.statistics.run_rows import RunRows, in_range, value_of


def counts_by_step(runs: RunRows, run: str) -> dict[int, np.ndarray]:
    """The number of held-out problems with c = 0..n correct of n samples, at each probed step."""
    return {row["step"]: np.array(value_of(row, "solve_rates", run)) for row in runs[run][PROBE]}


def by_seed(cell: CellLayout, runs: RunRows, up_to: int | None) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Each step at which every run of a cell was probed, with the counts of every seed."""
    counts = [counts_by_step(runs, run) for run in cell.policies]
    for step in in_range(sorted(set(counts[0]).intersection(*counts)), up_to):
        yield step, [of_seed[step] for of_seed in counts]


def ks_of(counts: np.ndarray) -> list[int]:
    """1, 2, 3, 4, 6, 8, ...: the k up to the number of samples at which curves are fitted and drawn."""
    n = len(counts) - 1
    powers = [2**i for i in range(12)]
    return [k for k in sorted({*powers, *(3 * power for power in powers)}) if k <= n]

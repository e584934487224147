"""Comparisons at matched effort: each method at its best learning rate on validation problems.

At one common learning rate, a comparison of weights is also one of step sizes: larger weights take larger steps. So
each method gets the rate, among a few, that is best for its runs on problems outside training and all benchmarks.
Validation pass@k chooses the rate for pass@k: pass@1 hardly depends on the rate where pass@32 does strongly, so it
would choose by noise.
"""

from typing import Any

import numpy as np

from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.run_rows import value_of

LAST = 3  # the number of final probes to average; a single one is noisy

Probes = dict[str, list[dict[str, Any]]]  # rows of probe.jsonl by run


def at_best(cell: dict[str, Any], k: int, probes: Probes) -> dict[str, Any]:
    """A layout's cell for a comparison at k: where it has `rates`, with the policies of the best one."""
    return {**cell, **best(cell["rates"], k, probes)} if cell.get("rates") else cell


def best(rates: list[dict[str, Any]], k: int, probes: Probes) -> dict[str, Any]:
    """The best learning rate on validation problems at k, with its policies; the smallest of equal ones."""
    ordered = sorted(rates, key=lambda rate: rate["learning_rate"])
    return max(ordered, key=lambda rate: validation(rate["policies"], k, probes))


def validation(policies: list[str], k: int, probes: Probes) -> float:
    """Validation pass@k: the mean over runs of the mean of each run's last probes.

    With n < k responses per problem it is pass@n. Raises KeyError for runs whose probes lack `solve_rates`.
    """
    return float(np.mean([np.mean(_after_training(run, k, probes[run])) for run in policies]))


def _after_training(run: str, k: int, rows: list[dict[str, Any]]) -> list[float]:
    """Validation pass@k of a run's last probes, without the probe before training."""
    return [of_probe(value_of(row, "solve_rates", run), k) for row in rows if row["step"]][-LAST:]


def of_probe(problems_by_correct: list[int], k: int) -> float:
    """pass@min(k, n) over problems; `problems_by_correct[c]` of them have c correct of n responses, c = 0..n."""
    n = len(problems_by_correct) - 1
    correct = np.arange(n + 1)
    return float(np.average(pass_at_k(np.full(n + 1, n), correct, min(k, n)), weights=problems_by_correct))

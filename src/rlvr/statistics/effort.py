"""Comparisons at matched effort: each method at the learning rate that validation problems prefer.

At one common learning rate a comparison of weights is also one of step sizes: a method whose weights are larger takes
larger steps. So each method is given the rate, of a few, at which its own runs do best on problems that are apart from
training and from every benchmark. What is compared at pass@k is chosen by validation pass@k: pass@1 hardly depends on
the rate where pass@32 does strongly, and would choose for it by noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.run_rows import value_of

LAST = 3  # probes at the end of a run that are averaged; a single one is noisy

Probes = dict[str, list[dict[str, Any]]]  # rows of probe.jsonl by run


def at_best(cell: dict[str, Any], k: int, probes: Probes) -> dict[str, Any]:
    """A layout's cell for a comparison at k: where it has `rates`, its policies and its rate are those of the best."""
    return {**cell, **best(cell["rates"], k, probes)} if cell.get("rates") else cell


def best(rates: list[dict[str, Any]], k: int, probes: Probes) -> dict[str, Any]:
    """The learning rate, with its policies, that validation problems prefer at k; of equal ones the smallest."""
    ordered = sorted(rates, key=lambda rate: rate["learning_rate"])
    return max(ordered, key=lambda rate: validation(rate["policies"], k, probes))


def validation(policies: list[str], k: int, probes: Probes) -> float:
    """Mean validation pass@k of some runs: for each the mean of its last probes, then over runs.

    Where a probe has n < k responses a problem it is pass@n. Raises KeyError for runs made before probes counted
    problems by their correct responses.
    """
    return float(np.mean([np.mean(_after_training(run, k, probes[run])) for run in policies]))


def _after_training(run: str, k: int, rows: list[dict[str, Any]]) -> list[float]:
    """Validation pass@k of a run's last probes; the one before training says nothing of it."""
    return [of_probe(value_of(row, "solve_rates", run), k) for row in rows if row["step"]][-LAST:]


def of_probe(problems_by_correct: list[int], k: int) -> float:
    """pass@min(k, n) over problems of which `problems_by_correct[c]` have c correct ones of n responses, c = 0..n."""
    n = len(problems_by_correct) - 1
    correct = np.arange(n + 1)
    return float(np.average(pass_at_k(np.full(n + 1, n), correct, min(k, n)), weights=problems_by_correct))

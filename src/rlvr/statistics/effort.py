"""Comparisons at matched effort: each method at the learning rate that validation problems prefer.

At one common learning rate a comparison of weights is also one of step sizes: a method whose weights are larger takes
larger steps. So each method is given the rate, of a few, at which its own runs do best on problems that are apart from
training and from every benchmark.
"""

from __future__ import annotations

from typing import Any

LAST = 3  # probes at the end of a run that are averaged; a single one is noisy

Probes = dict[str, list[dict[str, Any]]]  # rows of probe.jsonl by run


def choose(layout: dict[str, Any], probes: Probes) -> dict[str, Any]:
    """The layout with each cell that has `rates` at the best of them: its policies, its rate, the rate in its label.

    Best is the highest mean, over the seeds, of validation pass@1 over the last probes of a run; of equal ones the
    smallest rate. A layout without rates stays as it is.
    """
    return {**layout, "cells": [_at_best(cell, probes) if cell.get("rates") else cell for cell in layout["cells"]]}


def _at_best(cell: dict[str, Any], probes: Probes) -> dict[str, Any]:
    chosen = best(cell["rates"], probes)
    label = f"{cell['label']} (lr {chosen['learning_rate']:.2g})"
    return {**cell, **chosen, "label": label}


def best(rates: list[dict[str, Any]], probes: Probes) -> dict[str, Any]:
    """The learning rate, with its policies, that validation problems prefer; of equal ones the smallest."""
    ordered = sorted(rates, key=lambda rate: rate["learning_rate"])
    return max(ordered, key=lambda rate: validation(rate["policies"], probes))


def validation(policies: list[str], probes: Probes) -> float:
    """Mean validation pass@1 of some runs: for each the mean of its last probes, then over runs."""
    runs = [[row["pass_rate"] for row in probes[policy] if row["step"]][-LAST:] for policy in policies]
    return sum(sum(rates) / len(rates) for rates in runs) / len(runs)

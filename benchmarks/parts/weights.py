"""The weights of a batch: every method of ours, and verl's own functions, in one process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from comparison import Figure
from measuring import ROOT, Size, call, result

THEIRS = {  # of verl, with the goal of its time by that of our GRPO
    "compute_grpo_outcome_advantage": ("verl_over_grpo", 100.0),
    "compute_grpo_vectorized_outcome_advantage": ("verl_vectorized_over_grpo", None),
}


def measure(folder: Path, size: Size) -> Iterator[Figure]:
    text = call(
        *(size.python or sys.executable, "benchmarks/verl_weights.py", "--source", str(ROOT / "src")),
        *("--prompts", str(size.prompts), "--rollouts", "16", "--repeats", str(size.repeats)),
        *("--rounds", str(size.rounds), *(["--without-verl"] if size.python is None else [])),
    )
    found = result(text)
    ours, batch = found["ours"], f"{size.prompts:,} x 16 rollouts"
    slowest = max(ours, key=ours.get)
    of_all = f"weights of {batch}: {slowest}, the slowest of {len(ours)} methods"
    yield Figure("weights_slowest", ours[slowest], "CPU ms", of_all, at_most=5)
    yield Figure("weights_grpo", ours["grpo"], "CPU ms", "the same: GRPO")
    for function, ratio in found["ratios"].items():
        name, goal = THEIRS[function]
        yield Figure(name, ratio, "times", f"verl 0.9.1's `{function}` / our GRPO", at_least=goal, judged=True)
    if size.python is not None:
        gap = found["largest_difference_grpo_unbiased"]
        yield Figure("verl_difference", gap, "", "largest difference of these weights", at_most=0)

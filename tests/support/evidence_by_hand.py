"""Random counts and rows of runs, in place of what a run measures: all that a paper's numbers are computed from."""

from pathlib import Path

import numpy as np
import pandas as pd

from rlvr.config.measures import every
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for
from rlvr.files import publish_lines
from rlvr.report.counts import Kept

PROBLEMS, SAMPLES = 8, 256


def evidence_by_hand(plan: Plan, folder: Path, paper: str) -> None:
    """Every file that numbers of the paper's items, and its claims, are computed from."""
    generator = np.random.default_rng(1)
    for file in Kept(paper, plan, asked_for(plan, paper), True, Paths(str(folder), plan.scale)).files():
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".jsonl":
            level = next(iter(plan.runs[file.parent.name].validation.about.hard_levels), "")
            of_levels = {"pass_rate_by_level": {level: 0.5}, "problems_by_level": {level: 4}, "solve_rates": [0.5]}
            rows = [dict(zip(every(), generator.random(len(every())), strict=True)) for _ in range(13)]
            publish_lines(
                file, [{"step": step, **row, "prompts_drawn": 1.0, **of_levels} for step, row in enumerate(rows)]
            )
        elif file.name.endswith("-contrasts.csv"):
            file.write_text("claim,verdict\n")
        else:
            policy, evaluation = file.parts[-3:-1]
            level = next(iter(plan.evaluations[evaluation].data.about.hard_levels), "")
            names = {"policy": policy, "evaluation": evaluation, "problem": [f"p{i}" for i in range(PROBLEMS)]}
            counts = {
                "n": SAMPLES,
                "correct": generator.integers(0, SAMPLES, PROBLEMS),
                "wrong": 0,
                "mean_tokens": 1 / 3,
            }
            pd.DataFrame({**names, "level": level, **counts, "majority": 0.5}).to_csv(file, index=False)

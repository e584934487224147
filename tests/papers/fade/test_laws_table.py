"""The table of laws of pass@k: planted solve rates, and its text."""

import numpy as np
import pandas as pd
from support.layouts_by_hand import typed

from rlvr.papers.fade.figures.pass_at_k_laws import OfLaws
from rlvr.papers.fade.scaling import shares
from rlvr.papers.fade.tables import laws

RUNS = ["p1", "p2", "p3"]
LAYOUT = typed(
    OfLaws,
    title="T",
    scale="laptop",
    cells=[{"model": "m", "arm": "mean", "label": "Mean", "policies": RUNS}],
    k=[1, 2, 5, 10, 20],
    panels=[{"name": "bench", "evaluations": {"m": "x"}}],
    budgets=[10],
    laws=["shifted power law", "Beta-binomial"],
    by_level=False,
)


def test_parameters_and_errors_of_planted_solve_rates():
    generator, chances = np.random.default_rng(0), shares((0.8, 3.0), 20)
    scores = {
        (run, "x"): pd.DataFrame({"problem": range(600), "n": 20, "correct": correct, "level": ""})
        for run, correct in zip(RUNS, generator.choice(21, (3, 600), p=chances), strict=True)
    }
    frame = laws.statistics(LAYOUT, scores)
    found = frame[frame["law"] == "Beta-binomial"].set_index("parameter")
    assert list(frame["law"]) == ["shifted power law"] * 3 + ["Beta-binomial"] * 2
    assert abs(found["value"]["a"] - 0.8) < 0.1 and found["value_low"]["b"] < 3.0 < found["value_high"]["b"]
    assert (frame["mse"] < 1e-4).all() and (frame["mse_beyond"] < 1e-3).all()
    table = laws.render(LAYOUT, frame)
    assert list(table.frame.columns) == ["Method", "Fitted up to k", "Law", "Parameters", "MSE", "MSE beyond"]
    assert table.frame["Parameters"][1].startswith(f"a {found['value']['a']:.3g} [") and "On bench." in table.notes

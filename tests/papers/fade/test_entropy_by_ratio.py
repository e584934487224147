"""Entropy against the ratio of masses, held-out pass@k and learning speed: one run by hand."""

import numpy as np
import pytest
from support.layouts_by_hand import typed

from rlvr.figures._training import TrainingLayout
from rlvr.papers.fade.figures import entropy_by_ratio
from rlvr.statistics.run_rows import RunRows


def run(level: float) -> dict:
    """Ten steps whose entropy is the level; probes of four problems with two samples: 1 of 8 right, then 4 of 8."""
    of_step = {"entropy": level, "positive_mass": 0.2, "negative_mass": 0.1, "pass_rate": 0.5}
    rows = [{"step": i, **of_step} for i in range(1, 11)]
    return {"metrics": rows, "probe": [{"step": 0, "solve_rates": [3, 1, 0]}, {"step": 10, "solve_rates": [1, 2, 1]}]}


def test_pass_at_k_and_speed_stand_beside_the_ratios():
    arms = ("a", "b", "c")
    layout = typed(TrainingLayout, cells=[{"arm": a, "policies": [f"{a}1", f"{a}2"]} for a in arms])
    runs = RunRows({f"{a}{s}": run(0.1 * i + 0.01 * s) for i, a in enumerate(arms) for s in (1, 2)})
    for i, name in enumerate(("b1", "b2", "c1", "c2")):  # better arms have more entropy
        runs[name]["probe"][1]["solve_rates"] = [0, 3 - i // 2, 1 + i // 2]
    frame = entropy_by_ratio.statistics(layout, runs)
    found = frame.set_index(["arm", "measure"])["value"]
    assert found["a", "ratio"] == pytest.approx(2.0) and found["a", "pass_at_most"] == pytest.approx(0.75)
    assert found["a", "speed"] == pytest.approx(4 / 8 - 1 / 8)
    assert found["", "rank_correlation of speed"] == pytest.approx(1.0)
    panels = entropy_by_ratio.draw(layout, [frame]).axes
    assert [axes.get_xscale() for axes in panels] == ["log", "log", "linear", "linear"]
    assert not np.isnan(found["a", "entropy"])

"""RunRows that collapse: the rule by hand, and the table of their counts."""

import math

import numpy as np
import pandas as pd
import pytest
from support.layouts_by_hand import typed

from rlvr.statistics.collapse import judge
from rlvr.statistics.run_rows import RunRows
from rlvr.tables.collapse import CollapseLayout, render, statistics

RULE = {"window": 0.1, "factor": 1.5, "share": 0.1}


@pytest.mark.parametrize(
    ("series", "collapsed"),
    [
        ([0.5] * 5 + [0.2] * 10 + [0.5] * 5, True),  # down and up again
        ([0.8] * 10 + [0.2] * 10, False),  # down
        ([0.2] * 20, False),
        ([0.2] * 18 + [0.3] * 2, False),  # above by share, and by the factor exactly, which is not above it
        ([0.2] * 18 + [0.31] * 2, True),
        ([0.04] * 18 + [0.13] * 2, False),  # three times as many, and fewer than a tenth of the prompts more
        ([0.4] * 18 + [0.55] * 2, False),  # by 0.15 of the prompts, and not by half
        ([0.0] * 18 + [0.1] * 2, True),
        ([0.5, 0.2] + [0.5] * 18, False),  # one good step is no mean of two: 0.35 before, 0.5 at the end
        ([0.5, 0.1, 0.1] + [0.5] * 17, True),
        ([0.1], False),  # nothing before
        ([0.1, 0.9], True),  # the window is one step at least
    ],
)
def test_a_collapse_by_hand(series, collapsed):
    assert judge(np.array(series), **RULE).collapsed == collapsed


def test_a_collapse_is_seen_in_shares_alone():
    assert judge(np.array([0.5] * 10 + [0.2] * 8 + [0.6] * 2), **RULE).last == pytest.approx(0.6)
    for wrong in ([], [0.5, 1.5]):
        with pytest.raises(ValueError, match="shares in"):
            judge(np.array(wrong), **RULE)


def test_the_table_of_collapses():
    """3 of 10 against 0 of 10: Clopper-Pearson [0.067, 0.652] and [0, 0.308], Fisher's p = 0.211."""
    cells = [{"arm": arm, "policies": [f"{arm}{seed}" for seed in range(10)]} for arm in ("grpo", "other")]
    layout = typed(
        CollapseLayout, cells=cells, compare_with="grpo", compare_label="grpo", collapse={**RULE, "window": 0.25}
    )
    runs = RunRows()
    for run in [run for cell in layout.cells for run in cell.policies]:
        unsolved = [30, 10, 10, 30] if run in ("grpo0", "grpo1", "grpo2") else [30, 20, 10, 10]
        runs[run] = {"metrics": [{"step": i, "unsolved": u, "prompts_drawn": 60} for i, u in enumerate(unsolved)]}
    table = statistics(layout, runs)
    assert table["collapsed"].to_list() == [3, 0] and table["runs"].to_list() == [10, 10]
    assert table["value_low"].to_list() == pytest.approx([0.0667, 0.0], abs=1e-4)
    assert table["value_high"].to_list() == pytest.approx([0.6525, 0.3085], abs=1e-4)
    assert math.isnan(table["p"][0]) and table["p"][1] == pytest.approx(0.2105, abs=1e-4)
    rendered = render(layout, table)
    assert rendered.frame.to_numpy().tolist() == [
        ["M → m", "grpo", "10", "3", "30 [7, 65]", ""],
        ["", "other", "10", "0", "0 [0, 31]", "0.211"],
    ]
    assert rendered.notes[0].endswith("is above 1.5 times the smallest such mean before, and above it by at least 0.1.")
    assert list(rendered.frame.columns)[-1] == "p, against grpo"


def test_published_shares_stand_beside_ours(tmp_path):
    path = tmp_path / "collapse.csv"
    path.write_text("paper,table,model,method,benchmark,k,value,ci\nP,D.5,M,grpo,collapsed runs,,0.3,\n")
    cells = [{"arm": arm, "policies": [arm], "published": arm, "published_model": "M"} for arm in ("grpo", "other")]
    layout = typed(CollapseLayout, cells=cells, compare_with=None, collapse={**RULE, "window": 0.25})
    runs = RunRows({arm: {"metrics": [{"step": 1, "unsolved": 1, "prompts_drawn": 2}]} for arm in ("grpo", "other")})
    table = statistics(layout, runs, path)
    assert table["published"][0] == 0.3 and pd.isna(table["published"][1])
    frame = render(layout, table).frame
    assert frame["published (%)"].tolist() == ["30", ""]
    assert "published (%)" not in render(layout, table.drop(columns="published")).frame, "statistics of before"

"""Pass@1 against pass@k over steps: by hand, and in the papers."""

import pytest
from conftest import ROOT
from support.layouts_by_hand import typed

from rlvr.figures.frontier_over_steps import GAIN, PASS, Config, FrontierLayout, draw, statistics
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.statistics.run_rows import RunRows


def probes(*counts: list[int]) -> dict:
    """Rows of the numbers of problems with 0, 1 and 2 correct of 2 samples, at steps 0, 10, ..."""
    return {"probe": [{"step": 10 * i, "solve_rates": by_correct} for i, by_correct in enumerate(counts)]}


# pass@1 and pass@2 of 4 problems: (c1 + 2 c2) / 8 and (c1 + c2) / 4.
START, HALF, ALL = [2, 2, 0], [1, 2, 1], [0, 0, 4]  # 1/4 and 1/2; 1/2 and 3/4; 1 and 1
RUNS = RunRows({f"grpo{s}": probes(START, HALF, ALL) for s in (1, 2)})
RUNS |= {f"other{s}": probes(START, [2, 0, 2]) for s in (1, 2)}  # 1/2 and 1/2
RUNS |= {f"low{s}": probes(START, [3, 1, 0]) for s in (1, 2)}  # 1/8
LAYOUT = typed(
    FrontierLayout,
    k=2,
    compare_with="grpo",
    cells=[
        {"arm": arm, "label": f"a-{arm}", "learning_rate": 1.0, "policies": [f"{arm}1", f"{arm}2"]}
        for arm in ("grpo", "other", "low")
    ],
)


def test_methods_are_compared_with_the_baselines_line_at_their_last_pass_1_by_hand():
    frame = statistics(LAYOUT, RUNS)
    curve = frame[(frame["arm"] == "grpo") & (frame["measure"] == PASS)].set_index(["step", "k"])["value"]
    values = {(0, 1): 25, (0, 2): 50, (10, 1): 50, (10, 2): 75, (20, 1): 100, (20, 2): 100}
    assert curve.to_dict() == pytest.approx(values)
    (gain,) = frame[frame["measure"] == GAIN].to_dict("records")
    # The baseline has a pass@1 of 1/2 at step 10, and there a pass@2 of 3/4.
    assert gain["arm"] == "other" and gain["step"] == pytest.approx(10) and gain["seeds"] == 2
    assert (gain["value"], gain["value_low"]) == (pytest.approx(-25), pytest.approx(-25)), "equal seeds"
    labels = [line.get_label() for line in draw(LAYOUT, [frame]).axes[0].get_lines()]
    assert "a-other −25.0 [−25.0, −25.0]" in labels and "a-low" in labels, "below the line, so without a number"


def test_it_is_planned_in_three_papers_and_refused_without_its_baseline():
    plan = make_plan(ROOT, "laptop", ["ace", "lens", "agrae"])
    for paper in plan.papers:
        assert (layout_of(plan, paper, "frontier_over_steps").k, plan.items) == (8, "core")
    core = {run for name in ("core", "core_matched") for run in plan.papers["ace"].tables[name].policies()}
    assert set(plan.papers["ace"].figures["frontier_over_steps"].policies()) < core, "no run of its own"
    assert layout_of(make_plan(ROOT, "smoke", ["ace"]), "ace", "frontier_over_steps").k == 4, "as probes have"
    with pytest.raises(ValueError, match="compare_with: 'rloo' is none of `arms`"):
        Config(title="T", kind="frontier_over_steps", models=["m"], arms=["grpo"], compare_with="rloo")

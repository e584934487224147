"""The candidates for the laptop setting of picture runs: pilot problems alone, and no method but GRPO."""

from conftest import ROOT

from rlvr.planning.expansion import make_plan


def test_the_pilot_has_grpo_alone_on_problems_of_the_part_pilot():
    plan = make_plan(ROOT, "own", ["pilot_pictures"], own="benchmarks/pilot_pictures.yaml")
    assert len(plan.runs) == 24 and {run.estimator["name"] for run in plan.runs.values()} == {"grpo"}
    assert {evaluation.data.part for evaluation in plan.evaluations.values()} == {"pilot"}
    assert {run.seed for run in plan.runs.values()}.isdisjoint({1, 2, 3, 4, 5, 6, 7, 8})

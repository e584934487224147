"""The candidates for the laptop setting of picture runs: pilot problems alone, and no method but GRPO."""

from conftest import ROOT

from rlvr.planning.expansion import make_plan


def test_the_pilot_has_grpo_alone_on_problems_of_the_part_pilot():
    plan = make_plan(ROOT, "own", ["pilot_pictures"], own="benchmarks/pilot_pictures.yaml")
    assert len(plan.runs) == 24 and {run.estimator["name"] for run in plan.runs.values()} == {"grpo"}
    assert {evaluation.data.part for evaluation in plan.evaluations.values()} == {"pilot"}
    assert {run.seed for run in plan.runs.values()}.isdisjoint({1, 2, 3, 4, 5, 6, 7, 8})


def test_bases_that_were_trained_apart_share_neither_weights_nor_demonstrations():
    plan = make_plan(ROOT, "own", ["bases"], own="benchmarks/bases.yaml")
    assert {evaluation.data.part for evaluation in plan.evaluations.values()} == {"pilot"}
    starts = [policy for policy in plan.policies.values() if policy.start is None and policy.sft]
    assert len({policy.model.init_seed for policy in starts}) == len({policy.sft_data.seed for policy in starts}) == 8
    assert len(plan.runs) == 16

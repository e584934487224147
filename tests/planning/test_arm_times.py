"""Factors on settings of arms: learning rates that equalise the largest step (FADE, Table 2)."""

import pytest
from conftest import ROOT

from rlvr import estimators
from rlvr.planning.expansion import make_plan
from rlvr.theory._methods import weights

GROUP = 16


@pytest.fixture(scope="module")
def fade():
    return make_plan(ROOT, "paper", ["fade"])


def run_of(plan, arm):
    (cell,) = (cell for cell in plan.papers["fade"].tables["methods"].cells if cell.row.arm == arm)
    return plan.runs[cell.policies[0][0]]


def rate_of(plan, arm):
    return run_of(plan, arm).rl.learning_rate


def test_learning_rates_equalise_the_largest_weight(fade):
    """eta max|A| over groups of 16 is that of the mean baseline, within the digits that the file has."""
    reference = float(weights("dr_grpo")[0].abs().max())
    checked = 0
    for name in fade.papers["fade"].paper.arms:
        settings = dict(run_of(fade, name).estimator)
        method = settings.pop("name")
        if estimators.kind(method).controller or name.endswith("_plain"):
            continue  # weights that change during training: FADE's bound is power 2's, HA-DW's is at the anchor 1/2
        largest = float(weights(method, **settings)[0].abs().max())
        assert 1e-7 * reference / largest == pytest.approx(rate_of(fade, name), rel=0.01), name
        checked += 1
    assert checked > 20


def test_an_arms_factor_takes_the_place_of_its_likes_and_a_sweep_multiplies_both(fade):
    assert rate_of(fade, "grpo") == pytest.approx(2.42e-8) and rate_of(fade, "grpo_plain") == pytest.approx(1e-7)
    assert rate_of(fade, "fade_alpha") == rate_of(fade, "fade") == pytest.approx(1.067e-7)
    matched = fade.papers["fade"].tables["table3_matched"]
    (cell,) = (c for c in matched.cells if c.row.arm == "grpo" and c.model == "qwen2.5-7b")
    assert sorted(rate for rate, _ in cell.rates if rate) == pytest.approx([2.42e-9, 8.47e-9, 2.42e-8, 4.84e-8])

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
            continue  # weights that change during training
        largest = float(weights(method, **settings)[0].abs().max())
        assert 1e-7 * reference / largest == pytest.approx(rate_of(fade, name), rel=0.01), name
        checked += 1
    assert checked > 20


def test_weights_that_change_during_training_have_the_rate_of_a_state_that_they_pass(fade):
    """FADE's fit begins with alpha = 2 and delta = 1 (Eq. 17-18), delta alone has alpha = 1; HA-DW's anchor is 1/2."""
    power_2, mean = (rate_of(fade, name) for name in ("power_2", "mean"))
    checked = 0
    for name in fade.papers["fade"].paper.arms:
        settings = run_of(fade, name).estimator
        if settings["name"] == "fade":
            assert rate_of(fade, name) == (mean if settings["control"] == "delta" else power_2), name
            checked += 1
    assert checked >= 12
    settings = {key: value for key, value in run_of(fade, "ha_dw").estimator.items() if key in ("base", "lam")}
    assert settings == {"base": "dr_grpo", "lam": 1.0}  # FADE's masses, sec. 8.10
    largest = float(weights("ha_dw", **settings)[0].abs().max())
    reference = float(weights("dr_grpo")[0].abs().max())
    assert mean * reference / largest == pytest.approx(rate_of(fade, "ha_dw"), rel=0.01)


def test_arms_named_k_have_it_and_no_two_arms_have_one_weight(fade):
    """pass@8, as in FADE's Figure 2 and section 1; and a weight that another arm has is trained once."""
    assert {run_of(fade, name).estimator["k"] for name in ("pass_at_k", "pass_mix", "pass_at_k_loo")} == {8}
    assert run_of(fade, "quantile").estimator["tau"] == 0.25  # 1/2 is MC-GRPO
    arms = fade.papers["fade"].paper.arms
    assert len({run_of(fade, name).model_dump_json() for name in arms}) == len(arms)


def test_a_gradient_step_has_the_tokens_of_the_papers_trainers(fade):
    """32,768 on each trainer GPU, 8 of them at 7B and 96 for CWM-32B (sec. 11.1); a response has half of its limit."""
    steps = {"qwen2.5-7b": 40_000, "qwen2.5-7b-14k": 40_000, "cwm-32b": 30_000}
    tables = fade.papers["fade"].tables
    for table, model, trainers in (
        ("table3", "qwen2.5-7b", 8),
        ("table4", "qwen2.5-7b-14k", 8),
        ("table5", "cwm-32b", 96),
    ):
        cell = next(c for c in tables[table].cells if c.row.arm == "mean")
        run = fade.runs[cell.policies[0][0]]
        responses = run.rl.prompts_per_minibatch * run.rollout.samples_per_prompt
        assert cell.model == model
        assert responses * run.rollout.max_response_tokens / 2 == pytest.approx(trainers * 32_768, rel=0.15)
        assert run.steps * run.rl.prompts_per_step / run.rl.prompts_per_minibatch == steps[model]
        assert responses % 32 == 0 or model != "cwm-32b"  # its GPUs here


def test_an_arms_factor_takes_the_place_of_its_likes_and_a_sweep_multiplies_both(fade):
    assert rate_of(fade, "grpo") == pytest.approx(2.42e-8) and rate_of(fade, "grpo_plain") == pytest.approx(1e-7)
    assert rate_of(fade, "fade_alpha") == rate_of(fade, "fade") == pytest.approx(1.067e-7)
    matched = fade.papers["fade"].tables["table3_matched"]
    (cell,) = (c for c in matched.cells if c.rates and c.model == "qwen2.5-7b")
    grid = [1e-7 * times for times in (0.35, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)]
    assert cell.row.arm == "mean" and [rate for rate, _ in cell.rates] == pytest.approx(grid, rel=1e-3)

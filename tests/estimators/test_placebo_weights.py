"""Settings that take a method's idea away and keep its size."""

import math

import pytest
import torch
from support.members import R8, inputs, inputs_at_reference, outcomes, same, weigh

from rlvr.estimators import Estimator

SETTINGS = [{}, {"aggregation": "sum"}, {"modulation": "relu", "alpha": 2.0}, {"base": "dr_grpo", "aggregation": "sum"}]


def of_errors(weights: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    return torch.where(rewards == 0, weights, 0.0)


def test_ace_with_one_factor_for_all_errors_by_hand():
    """Factors 3 and 2 of errors with |A| = 1/2, and 4 of one with |A| = 3/4: their mean by size is 5.5 / 1.75."""
    rewards = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 0]], dtype=torch.float64)
    c = torch.tensor([[9.0, 9, 2, 1], [9, 9, 9, 3]], dtype=torch.float64)
    settings = {"aggregation": "sum", "modulation": "relu", "base": "dr_grpo"}
    found = weigh("ace", rewards, {"log_ratio_PG": c}, confidence="mean", **settings)
    factor = (0.5 * 3 + 0.5 * 2 + 0.75 * 4) / 1.75
    expected = [[0.5, 0.5, -0.5 * factor, -0.5 * factor], [0.25, 0.25, 0.25, -0.75 * factor]]
    same(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("settings", SETTINGS)
def test_ace_with_one_factor_keeps_the_summed_weight_of_the_steps_errors(settings):
    given = inputs(R8)
    own, mean = (weigh("ace", R8, given, confidence=c, **settings) for c in ("own", "mean"))
    assert torch.isclose(of_errors(own, R8).sum(), of_errors(mean, R8).sum(), rtol=1e-12)
    same(own * R8, mean * R8)
    base = weigh(settings.get("base", "grpo"), R8, {})
    factors = (mean / base)[(R8 == 0) & (base < 0)]
    assert factors.std() < 1e-9 < (own / base)[(R8 == 0) & (base < 0)].std()


@pytest.mark.parametrize("settings", SETTINGS)
def test_ace_shuffled_has_the_same_weights_in_a_group_and_none_where_it_was(settings):
    given = inputs(R8)
    own, shuffled = (weigh("ace", R8, given, confidence=c, **settings) for c in ("own", "shuffled"))
    same(own.sort(dim=1).values, shuffled.sort(dim=1).values)
    same(own * R8, shuffled * R8)
    moved = (R8 == 0) & ((R8 == 0).sum(dim=1, keepdim=True) > 1) & (R8.sum(dim=1, keepdim=True) > 0)
    distinct = own[moved] != weigh("grpo", R8, {})[moved]  # a ReLU leaves several errors at 1
    assert distinct.any() and (own != shuffled)[moved][distinct].float().mean() > 0.9
    alone = (R8 == 0) & ((R8 == 0).sum(dim=1, keepdim=True) == 1)
    same(own[alone], shuffled[alone])


def test_ace_shuffled_gives_each_error_the_c_of_the_next():
    rewards = torch.tensor([[0.0, 1, 0, 0]], dtype=torch.float64)
    c = torch.tensor([[1.0, 9, 2, 3]], dtype=torch.float64)
    found = weigh(
        "ace", rewards, {"log_ratio_PG": c}, aggregation="sum", modulation="relu", base="dr_grpo", confidence="shuffled"
    )
    same(found, torch.tensor([[-0.75, 0.75, -1.0, -0.5]]).double())


def test_ace_placebos_are_ace_at_the_reference():
    given = inputs_at_reference(R8)
    for confidence in ("mean", "shuffled"):
        same(weigh("ace", R8, given, confidence=confidence), weigh("ace", R8, given))


def test_figures_of_ace_placebos_are_of_the_factors_that_they_give():
    given = inputs(R8)
    own, mean, shuffled = (Estimator("ace", {"confidence": c}).figures(R8, given) for c in ("own", "mean", "shuffled"))
    assert own == pytest.approx(shuffled) and own["factor_spread"] > 0.01 > 1e-9 > mean["factor_spread"]


def test_lens_for_random_groups_moves_the_weights_of_all_wrong_groups_to_the_next_ones():
    rewards = torch.tensor([[0.0] * 4, [1, 0, 0, 0], [1] * 4, [0] * 4], dtype=torch.float64)
    given = inputs(rewards)
    own, moved = (weigh("lens", rewards, given, placed=p) for p in ("own", "next"))
    same(moved[1], own[1] + own[0])
    same(moved[0], own[3])
    assert torch.equal(moved[2:], torch.zeros(2, 4).double()) and own[3].abs().sum() > 0


def test_lens_for_random_groups_keeps_every_weight():
    rewards = outcomes(4).repeat(8, 1)
    given = inputs(rewards)
    own, moved = (weigh("lens", rewards, given, placed=p) for p in ("own", "next"))
    same(own.sum(dim=0), moved.sum(dim=0))
    negative = rewards.sum(dim=1) == 0
    same(own[negative].roll(0, 0).abs().sum(), (moved[negative.roll(1)] - own[negative.roll(1)]).abs().sum())


def test_a_grae_with_a_fixed_omega_has_the_weights_of_a_batch_with_this_mean():
    fixed, free = Estimator("a_grae", {"fixed": 0.5}), Estimator("a_grae")
    half, easy = torch.tensor([[1.0, 0, 0, 1]]).double(), torch.tensor([[1.0, 1, 0, 1]]).double()
    assert fixed.advance({}, easy, {}) == free.advance({}, half, {}) == {"omega": 0.5}
    assert torch.equal(fixed.step(half, {}, {})[0], free.step(half, {}, {})[0])
    assert not torch.equal(fixed.step(easy, {}, {})[0], free.step(easy, {}, {})[0])


@pytest.mark.parametrize("score", ["rloo", "dr_grpo"])
@pytest.mark.parametrize("class_weights", [True, False])
def test_pacs_with_a_linear_likelihood_keeps_the_weights_that_it_has_at_the_reference(score, class_weights):
    settings = {"score": score, "class_weights": class_weights}
    far, near = inputs(R8), inputs_at_reference(R8)
    linear = weigh("pacs", R8, far, likelihood="linear", **settings)
    same(linear, weigh("pacs", R8, near, **settings))
    assert (linear - weigh("pacs", R8, far, **settings)).abs().max() > 0.1


@pytest.mark.parametrize("score", ["rloo", "grpo", "dr_grpo"])
def test_pacs_linear_weight_is_the_derivative_of_its_objective(score):
    rewards, pacs = outcomes(4), Estimator("pacs", {"likelihood": "linear", "score": score})
    given = inputs(rewards)
    logp = given["logp_PG"].clone().requires_grad_()
    value = pacs.kind.objective(rewards, logp_PG=logp, logp_ref_PG=given["logp_ref_PG"], **pacs.settings)
    derivative = 4 * torch.autograd.grad(value.sum(), logp)[0]
    torch.testing.assert_close(pacs.advantages(rewards, given, {}), derivative, rtol=1e-9, atol=1e-11)
    at_reference = {**given, "logp_PG": given["logp_ref_PG"]}
    assert pacs.objective(rewards, at_reference) == pytest.approx(-math.log(2))

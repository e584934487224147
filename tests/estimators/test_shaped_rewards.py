"""Rewards that are not 0 and 1, and other inputs beyond what closed forms assume."""

import pytest
import torch
from conftest import ROOT
from support.members import outcomes, same, weigh

from rlvr import estimators
from rlvr.config.schema.specs import RunSpec
from rlvr.estimators import inputs_at_reference
from rlvr.planning.expansion import make_plan
from rlvr.training.rollouts import overlong_penalty


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["grpo", "positive_dominant", "ace", "a_grae", "t2t", "hard_focused"])
def test_a_group_of_equal_rewards_gets_zeros_though_its_mean_rounds(name, dtype):
    for value, rollouts in ((0.1, 3), (0.9, 3), (-0.7, 7)):
        rewards = torch.full((1, rollouts), value, dtype=dtype)
        given = inputs_at_reference(rewards)
        for epsilon in (0.0, 1e-6):
            assert weigh(name, rewards, given, epsilon=epsilon).abs().max() == 0


def test_a_length_penalty_does_not_make_a_correct_rollout_wrong():
    penalised = torch.tensor([[0.4, 0.2, 0.0, -0.6]], dtype=torch.float64)  # two correct, two wrong, all overlong
    assert weigh("nsr", penalised, {}).tolist() == [[0, 0, -1, -1]]
    assert weigh("pass_at_k", penalised, {}, k=1)[0, 0] > 0


@pytest.mark.parametrize("name", estimators.names())
def test_a_plan_refuses_a_penalty_where_weigh_and_the_adapters_refuse_its_rewards(plan, name):
    """Both ask one function: which methods take a mean reward for a solve rate."""
    (run, *_) = plan.runs.values()
    content = {**run.model_dump(), "estimator": {"name": name, **estimators.resolve(name, {})}, "critic": None}
    rates = []
    for rewards in ([[1.0, 0.0]], [[1.0, -1.0]]):
        try:
            estimators.Estimator(name).refuse_negative(torch.tensor(rewards))
        except ValueError as error:
            rates.append(str(error).partition(": ")[0])
    penalised = {**content, "reward": {"overlong_penalty": 1.0, "overlong_buffer": 0.2}}
    RunSpec.model_validate({**content, "reward": {"overlong_penalty": 1.0, "overlong_buffer": 0.0}})
    if not rates:
        RunSpec.model_validate(penalised)
        return
    assert rates == [f"{name} takes a group's mean reward for its solve rate, and a reward is -1"]
    with pytest.raises(ValueError, match=rf"{rates[0]}: set reward.overlong_penalty to 0, or train another method"):
        RunSpec.model_validate(penalised)


def test_max_rl_does_not_turn_its_sign_below_zero():
    below = torch.tensor([[-1.0, -0.5, 0.0, 0.0], [1.0, -1.0, -1.0, 0.0]], dtype=torch.float64)
    assert weigh("max_rl", below, {}).abs().max() == 0


def test_asym_power_alpha_is_dr_grpo_for_any_rewards():
    rewards = torch.tensor([[-1.0, -0.5, 0.0, 0.0], [1.5, 1.0, 1.2, 0.9]], dtype=torch.float64)
    same(weigh("asym_power_alpha", rewards, {}, alpha_s=1.0, alpha_f=1.0), weigh("dr_grpo", rewards, {}))
    same(weigh("power_alpha", rewards, {}, alpha=1.0), weigh("dr_grpo", rewards, {}))


def test_ace_never_scales_a_positive_weight():
    rewards = torch.tensor([[-1.0, -1.0, -1.0, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.full((1, 4), 5.0).double(), "lengths_PG": torch.ones(1, 4).double()}
    for negatives in ("below_mean", "zero_reward"):
        found = weigh("ace", rewards, given, negatives=negatives)
        assert found[0, 3] == weigh("grpo", rewards, {})[0, 3] > 0


def test_pacs_with_a_grpo_score_survives_rounding_inputs_at_reference():
    """Two passes over the same weights differ by about 1e-5 nats: that is not a spread."""
    rewards = outcomes(4)
    reference = inputs_at_reference(rewards)["logp_ref_PG"]
    noise = 1e-5 * torch.randn(rewards.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    given = {"logp_PG": reference + noise, "logp_ref_PG": reference}
    assert weigh("pacs", rewards, given, score="grpo").abs().max() < 2


def test_lens_with_hopeless_rollouts_is_finite():
    rewards = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    given = {"logp_old_PG": torch.tensor([[-4000.0, -9000.0], [-4000.0, -3.0]]), "lengths_PG": torch.full((2, 2), 10.0)}
    for difficulty in ("sequence", "length_normalised"):
        assert torch.isfinite(weigh("lens", rewards, given, difficulty=difficulty)).all()


def test_the_penalty_of_aces_dapo_gives_dapos_own_weights():
    """DAPO: rewards 1 and -1 and a penalty up to 1 (its Eq. 7 and 13). Ours: rewards 1 and 0 and half of it."""
    arm = next(r for r in make_plan(ROOT, "paper", ["ace"]).runs.values() if r.rollout.dynamic_sampling)
    lengths = torch.tensor([[100, 2500, 2900, 3000]])
    right = torch.tensor([[1.0, 0.0, 1.0, 0.0]], dtype=torch.float64)
    published = overlong_penalty(lengths, limit=3000, buffer=arm.reward.overlong_buffer, penalty=1.0)
    ours = overlong_penalty(lengths, limit=3000, buffer=arm.reward.overlong_buffer, penalty=arm.reward.overlong_penalty)
    weights = [weigh("grpo", rewards, {}, epsilon=0.0) for rewards in (2 * right - 1 + published, right + ours)]
    torch.testing.assert_close(weights[0], weights[1])

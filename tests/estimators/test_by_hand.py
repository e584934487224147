"""Weights that papers print, or that follow by hand."""

import importlib
import itertools
import math

import numpy as np
import pytest
import torch
from support.members import (
    R8,
    inputs,
    outcomes,
    same,
    w8,
    weigh,
)

from rlvr.estimators import Estimator


def test_ace_by_hand():
    """ACE Eq. 7's examples: c = 2, 0, -3 weigh 1 + 2.13, 1 + 0.69, 1 + 0.05; the right rollout is unchanged."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.tensor([[5.0, 2.0, 0.0, -3.0]]).double(), "lengths_PG": torch.full((1, 4), 10.0)}
    ace = weigh("ace", rewards, given, aggregation="sum", epsilon=0.0)
    standard = -0.25 / math.sqrt(0.25 * 0.75)
    factors = [1 + math.log1p(math.exp(c)) for c in (2.0, 0.0, -3.0)]
    np.testing.assert_allclose(ace[0, 1:], [standard * f for f in factors], rtol=1e-12)
    np.testing.assert_allclose(factors, [1 + 2.13, 1 + 0.69, 1 + 0.05], atol=5e-3)
    np.testing.assert_allclose(ace[0, 0], 0.75 / math.sqrt(0.25 * 0.75), rtol=1e-12)


def test_ace_readings_differ_by_the_length():
    rewards = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.tensor([[1.0, 2.0, -4.0]]).double(), "lengths_PG": torch.full((1, 3), 8.0).double()}
    summed = weigh("ace", rewards, {**given, "log_ratio_PG": given["log_ratio_PG"] / 8}, aggregation="sum")
    same(weigh("ace", rewards, given, aggregation="mean"), summed)


def test_ace_at_the_reference_is_a_uniform_penalty():
    """At pi = pi_ref every error is scaled by 1 + ln 2 = 1.693: AsymGRPO with delta = 0.591, not selective."""
    grpo = w8("grpo")
    same(w8("ace"), torch.where(grpo < 0, grpo * (1 + math.log(2)), grpo))
    assert math.isclose(1 / (1 + math.log(2)), 0.591, abs_tol=5e-4)


def test_relu_leaves_errors_alone_that_lost_confidence():
    given = inputs(R8)
    relu, grpo = weigh("ace", R8, given, modulation="relu"), weigh("grpo", R8, given)
    falling = given["log_ratio_PG"] <= 0
    assert torch.equal(relu[falling], grpo[falling])
    rising_errors = (given["log_ratio_PG"] > 0) & (grpo < 0)
    assert (relu[rising_errors] < grpo[rising_errors]).all()


def test_negatives_readings_differ_for_shaped_rewards():
    """A right but overlong rollout below the mean is an error for sec. 3's reading, not for Algorithm 1's."""
    rewards = torch.tensor([[1.0, 1.0, 0.2, 0.0]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.ones(1, 4).double(), "lengths_PG": torch.ones(1, 4).double()}
    below, zero = (weigh("ace", rewards, given, negatives=n) for n in ("below_mean", "zero_reward"))
    assert below[0, 2] < zero[0, 2] and below[0, 3] == zero[0, 3]


def test_errors_by_the_verifier_where_a_length_penalty_shapes_rewards():
    """Six right ones, a right and a wrong one that are overlong, c = 0: Alg. 1 scales the wrong one alone, by 1 + ln 2.

    By the mean the right one is scaled too; by a reward of zero none is.
    """
    rewards = torch.tensor([[1.0] * 6 + [0.5, -0.5]], dtype=torch.float64)
    given = {"log_ratio_PG": torch.zeros(1, 8).double(), "lengths_PG": torch.ones(1, 8).double()}
    grpo = weigh("grpo", rewards, {})[0]
    assert (grpo[6:] < 0).all() and math.isclose(grpo[6], -0.5, abs_tol=5e-3)
    expected = {"incorrect": [7], "below_mean": [6, 7], "zero_reward": []}
    for negatives, scaled in expected.items():
        factors = torch.ones(8, dtype=torch.float64)
        factors[scaled] = 1 + math.log(2)
        same(weigh("ace", rewards, given, negatives=negatives)[0], grpo * factors)


def test_lens_by_hand():
    """One success of four; confidences 0.5, 0.4, 0.3, 0.2 a token; raw probabilities make D_imp inert."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    lengths = torch.full((2, 4), 10.0, dtype=torch.float64)
    confidence = torch.tensor([[0.5, 0.4, 0.3, 0.2]] * 2, dtype=torch.float64)
    given = {"logp_old_PG": lengths * confidence.log(), "lengths_PG": lengths}
    found = weigh("lens", rewards, given, epsilon=0.0)
    calibrated = np.array([1.0, -0.4 / 0.6 / 4, -0.3 / 0.7 / 4, -0.2 / 0.8 / 4])
    np.testing.assert_allclose(found[0], (calibrated - calibrated.mean()) / calibrated.std(), rtol=1e-12)
    negative = np.array([-0.5 / 0.5, -0.4 / 0.6, -0.3 / 0.7, -0.2 / 0.8]) / 4
    np.testing.assert_allclose(found[1], 0.25 * (negative - negative.mean()), rtol=1e-12)
    # With the length-normalised probability in Eq. 14, D = 1 / (0.25 / 0.5) = 2 is larger than 2 x 0.5 = 1.
    other = weigh("lens", rewards, given, epsilon=0.0, difficulty="length_normalised")
    calibrated = np.array([1.0, -0.4 / 1.6 / 4, -0.3 / 1.7 / 4, -0.2 / 1.8 / 4])
    np.testing.assert_allclose(other[0], (calibrated - calibrated.mean()) / calibrated.std(), rtol=1e-12)


def lens_of(confidence: list[float], length: float = 10.0) -> tuple[torch.Tensor, dict]:
    """A group with one success and an all-wrong one, both of these probabilities per token."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    lengths = torch.full((2, 4), length, dtype=torch.float64)
    logp = lengths * torch.tensor([confidence] * 2, dtype=torch.float64).log()
    return rewards, {"logp_old_PG": logp, "lengths_PG": lengths}


def normalised(calibrated: list[float]) -> np.ndarray:
    values = np.array(calibrated)
    return (values - values.mean()) / values.std()


def test_lens_divides_by_the_group_size_in_mixed_groups_alone():
    """The extreme mixed group of sec. 5.1 has what it has; penalties of an all-wrong one are G times as large."""
    rewards, given = lens_of([0.5, 0.4, 0.3, 0.2])
    both, mixed = (weigh("lens", rewards, given, divisor=d) for d in ("rollouts", "rollouts_if_mixed"))
    assert torch.equal(both[0], mixed[0])
    penalties = -np.array([0.5 / 0.5, 0.4 / 0.6, 0.3 / 0.7, 0.2 / 0.8])
    np.testing.assert_allclose(mixed[1], 0.25 * (penalties - penalties.mean()), rtol=1e-12)
    same(mixed[1], 4 * both[1])


def test_lens_with_gamma_by_hand():
    """App. C: -pibar / (|o| (gamma - pibar)), here with |o| = 10 and gamma = 1.1."""
    rewards, given = lens_of([0.5, 0.4, 0.3, 0.2])
    found = weigh("lens", rewards, given, gamma=1.1, divisor="tokens", epsilon=0.0)
    penalties = [p / (1.1 - p) / 10 for p in (0.5, 0.4, 0.3, 0.2)]
    np.testing.assert_allclose(found[0], normalised([1.0, *(-p for p in penalties[1:])]), rtol=1e-12)
    np.testing.assert_allclose(found[1], 0.25 * (np.mean(penalties) - np.array(penalties)), rtol=1e-12)
    for gamma in (1.0, 0.9, -1.0):
        with pytest.raises(ValueError, match="gamma must exceed 1"):
            weigh("lens", rewards, given, gamma=gamma)
    certain = lens_of([1.0, 1.0, 0.5, 0.5])
    assert torch.isfinite(weigh("lens", *certain, gamma=1.001, divisor="tokens")).all()


def test_lens_with_the_raw_probability_is_one_candidates_penalty():
    """Eq. 10: pi / (D - pi), D = max(D_imp, 2 max pi). Of long responses only the largest term is left (sec. 5.1)."""
    rewards, given = lens_of([0.5, 0.4, 0.3, 0.2], length=2.0)
    found = weigh("lens", rewards, given, probability="sequence", epsilon=0.0)
    pi = np.array([0.25, 0.16, 0.09, 0.04])
    difficulty = max(1 / (0.25 / 0.25), 2 * 0.25)  # D_imp = 1 / mean(r / pi) = 1 / (1/4 / 0.25)
    calibrated = [1.0, *(-p / (difficulty - p) / 4 for p in pi[1:])]
    np.testing.assert_allclose(found[0], normalised(calibrated), rtol=1e-12)
    negative = -pi / (0.5 - pi) / 4
    np.testing.assert_allclose(found[1], 0.25 * (negative - negative.mean()), rtol=1e-12)
    rewards, given = lens_of([0.5, 0.4, 0.3, 0.2], length=200.0)
    long = weigh("lens", rewards, given, probability="sequence")[1]
    np.testing.assert_allclose(long, 0.25 / 4 * np.array([-0.75, 0.25, 0.25, 0.25]), rtol=1e-12)
    inert = weigh("lens", rewards, given, probability="sequence", difficulty="length_normalised", epsilon=0.0)
    same(inert[0], weigh("grpo", rewards, {}, epsilon=0.0)[0])


def test_lens_ablations_leave_the_other_groups_alone():
    rewards = outcomes(4)
    given, grpo = inputs(rewards), weigh("grpo", rewards, {})
    both = weigh("lens", rewards, given)
    mixed, negative = (weigh("lens", rewards, given, groups=g) for g in ("mixed", "negative"))
    assert torch.equal(mixed[0], torch.zeros(4).double()) and torch.equal(mixed[1:], both[1:])
    assert torch.equal(negative[0], both[0]) and torch.equal(negative[1:], grpo[1:])
    assert both[0].abs().max() > 0


def test_a_grae_by_hand():
    """p = 7/8, omega = 0.5: the paper's easy factor is 1.41, the code's 7.74 (both halved by 1 - omega)."""
    rewards = torch.tensor([[1.0] * 7 + [0.0]], dtype=torch.float64)
    state, p = {"omega": 0.5}, 7 / 8
    base = weigh("grpo", rewards, {}, epsilon=0.0)
    paper, code = (weigh("a_grae", rewards, {}, state, levels="sample", easy=e, epsilon=0.0) for e in ("paper", "code"))
    factor = 0.5 / (2 * math.sqrt(p)) + 0.5 / (2 * math.sqrt(1 - p))
    same(paper, base * factor)
    assert math.isclose(1 / (2 * math.sqrt(1 - p)), 1.41, abs_tol=5e-3)
    assert math.isclose((float(code[0, 0] / base[0, 0]) - 0.5 / (2 * math.sqrt(p))) / 0.5, 7.74, abs_tol=1e-2)
    both = weigh("a_grae", rewards, {}, state, epsilon=0.0)
    same(both, torch.where(paper > 0, 0.5 * paper, paper))
    group = weigh("a_grae", rewards, {}, {"omega": 0.9}, levels="group", alpha=0.5, epsilon=0.0)
    same(group, base)  # omega above alpha: no attenuation


def test_a_grae_omega_is_the_batch_mean():
    estimator = Estimator("a_grae")
    weights, state = estimator.step(R8[:96], {}, {})
    assert state == {"omega": float(R8[:96].mean())}
    same(weights, weigh("a_grae", R8[:96], {}, state))


def test_grpo_lead_by_hand():
    assert math.isclose(
        float(importlib.import_module("rlvr.estimators.grpo_lead").weight(torch.tensor(0.75))), 0.95, rel_tol=1e-6
    )
    hard = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    found = weigh("grpo_lead", hard, {}, epsilon=0.0)
    base = 0.75 / math.sqrt(0.1875), -0.25 / math.sqrt(0.1875)
    weights = 0.4 + 1.1 / (1 + math.exp(-5)), 0.4 + 1.1 / (1 + math.exp(0))
    np.testing.assert_allclose(found[0, :2], [base[0] * weights[0], base[1] * weights[1]], rtol=1e-12)


def test_mc_grpo_of_the_released_code():
    """A majority has deviation zero, so the minority gets 1 / 0.001."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0], [0.2, 0.5, 0.9, 0.4, 0.1]], dtype=torch.float64)
    found = weigh("mc_grpo", rewards, {}, scale="mad")
    np.testing.assert_allclose(found[0], [1000.0, 0, 0, 0, 0])
    np.testing.assert_allclose(found[1], np.array([-0.2, 0.1, 0.5, 0.0, -0.3]) / 0.201, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("tau", "switch"), [(0.5, 0.5), (0.25, 0.75), (0.8, 0.2)])
def test_quantile_baseline_switches_at_one_less_tau(tau, switch):
    """Not at tau, as FADE writes (they agree at one half)."""
    rewards = (torch.arange(20) < torch.arange(21)[:, None]).double()
    p, found = rewards.mean(1), weigh("quantile", rewards, {}, tau=tau)
    learns_from_success = (found > 0).any(1)
    np.testing.assert_array_equal(learns_from_success[1:], (p <= switch + 1e-9)[1:])


@pytest.mark.parametrize("score", ["rloo", "grpo", "dr_grpo"])
@pytest.mark.parametrize("std", ["biased", "unbiased"])
@pytest.mark.parametrize("class_weights", [True, False])
@pytest.mark.parametrize("over", ["sum", "mean"])
def test_pacs_weight_is_the_derivative_of_its_objective(score, std, class_weights, over):
    rewards = outcomes(4)
    given = inputs(rewards)
    given["lengths_PG"] = torch.arange(1.0, 1.0 + rewards.numel()).view_as(rewards).double() % 7 + 1
    logp = given["logp_PG"].clone().requires_grad_()
    settings = {"score": score, "std": std, "class_weights": class_weights, "beta": 0.7, "over": over}
    module = importlib.import_module("rlvr.estimators.pacs")
    value = module.objective(
        rewards, logp_PG=logp, logp_ref_PG=given["logp_ref_PG"], lengths_PG=given["lengths_PG"], **settings
    )
    derivative = 4 * torch.autograd.grad(value.sum(), logp)[0]
    torch.testing.assert_close(weigh("pacs", rewards, given, **settings), derivative, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("beside", [0, 2])
def test_pacs_actor_term_is_that_of_the_expected_likelihood(beside):
    """PACS Eq. 5 by enumeration: one answer of a softmax policy over three, in a group with an answer that is given."""
    theta = torch.tensor([0.4, -0.3, 0.9], dtype=torch.float64, requires_grad=True)
    right = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    log_ref = torch.tensor([0.1, 0.5, -0.2], dtype=torch.float64).log_softmax(0)
    log_pi, beta = theta.log_softmax(0), 0.7
    other = beta * float((log_pi.detach() - log_ref)[beside])
    psi = beta * (log_pi - log_ref) - other
    likelihood = right * torch.sigmoid(psi).log() + (1 - right) * (1 - torch.sigmoid(psi)).log()
    whole = torch.autograd.grad(log_pi.exp() @ likelihood, theta, retain_graph=True)[0]

    pairs = torch.tensor([[answer, beside] for answer in range(3)])
    given = {"logp_PG": log_pi.detach()[pairs], "logp_ref_PG": log_ref[pairs]}
    settings = {"beta": beta, "class_weights": False}
    actor = (
        weigh("pacs", right[pairs], given, actor=True, **settings) - weigh("pacs", right[pairs], given, **settings)
    )[:, 0]
    critic = beta * (right - torch.sigmoid(psi.detach()))
    found = torch.autograd.grad(log_pi.exp().detach() @ ((actor + critic) * log_pi), theta)[0]
    torch.testing.assert_close(found, whole)
    assert (actor < -0.1).all()


def test_pacs_actor_term_makes_correct_responses_negative_at_the_reference():
    """psi = 0 in a group of 4 with 2 correct, so class weights of 1: A = 2/3 + log(1/2) < 0 at beta = 1."""
    rewards, zero = torch.tensor([[1.0, 1.0, 0.0, 0.0]]).double(), torch.zeros(1, 4).double()
    found = weigh("pacs", rewards, {"logp_PG": zero, "logp_ref_PG": zero}, actor=True)
    expected = torch.tensor([[1.0, 1.0, -1.0, -1.0]]).double() / 2 * 4 / 3
    torch.testing.assert_close(found, expected + math.log(0.5))


def test_pacs_objective_is_sklearns_kind_of_cross_entropy():
    """Against torch's own loss with balanced weights, at psi of Eq. 6 written out."""
    rewards = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    logp, ref = torch.tensor([[-3.0, -2.0, -5.0]]).double(), torch.tensor([[-3.5, -2.5, -4.0]]).double()
    proxy = (logp - ref)[0]
    psi = torch.stack([proxy[i] - (proxy.sum() - proxy[i]) / 2 for i in range(3)])
    balanced = torch.tensor([3 / 2, 3 / 4, 3 / 4], dtype=torch.float64)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(psi, rewards[0], weight=balanced)
    found = Estimator("pacs").objective(rewards, {"logp_PG": logp, "logp_ref_PG": ref})
    assert -found == pytest.approx(float(expected), rel=1e-7)


def test_pacs_with_a_grpo_score_by_hand():
    """psi = (3, -1, -2) over sqrt(14 / 3), or the released code's sqrt(14 / 2)."""
    scores = importlib.import_module("rlvr.estimators.pacs").scores
    logp, zero = torch.tensor([[-1.0, -5.0, -6.0]]).double(), torch.zeros(1, 3).double()
    centred = torch.tensor([[3.0, -1.0, -2.0]]).double()
    for std, variance in (("biased", 14 / 3), ("unbiased", 14 / 2)):
        torch.testing.assert_close(scores(logp, zero, 1.0, "grpo", std), centred / math.sqrt(variance))
    with pytest.raises(ValueError, match="at least two rollouts"):
        scores(logp[:, :1], zero[:, :1], 1.0, "grpo", "unbiased")


def test_pacs_with_a_mean_over_tokens_has_no_closed_form():
    with pytest.raises(ValueError, match="depend on lengths"):
        Estimator("pacs", {"over": "mean"}).masses(torch.tensor([0.5]).double(), 8)


def test_pass_at_k_by_leave_one_out_with_k_is_the_mean_over_batches_of_k():
    """Two of five right, k = 3: of the 6 pairs of others of a right rollout, 3 are of wrong ones."""
    rewards = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [1.0] * 5]).double()
    found = weigh("pass_at_k_loo", rewards, {}, k=3)
    same(found, torch.tensor([[0.5, 0.5, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 5]).double())
    for batch in itertools.combinations(range(5), 3):  # and so the weights of whole batches, averaged
        found = found - weigh("pass_at_k_loo", rewards[:, batch], {}) @ torch.eye(5).double()[list(batch)] / 6
    same(found, torch.zeros(3, 5).double())
    with pytest.raises(ValueError, match="k must be between 2 and the 5 rollouts"):
        weigh("pass_at_k_loo", rewards, {}, k=6)


def test_f_grpo_by_hand():
    """A quarter right: GRPO's sqrt(3) and -1 / sqrt(3), times (3/4)^2."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0] * 4]).double()
    found = weigh("f_grpo", rewards, {}, gamma=2.0, epsilon=0.0)
    np.testing.assert_allclose(found[0], np.array([3.0, -1.0, -1.0, -1.0]) / math.sqrt(3) * 9 / 16, rtol=1e-12)
    assert not found[1].any()
    same(weigh("f_grpo", R8, {}, gamma=0.0), weigh("grpo", R8, {}))
    with pytest.raises(ValueError, match="gamma must not be negative"):
        weigh("f_grpo", R8, {}, gamma=-1.0)


def test_the_lowest_reward_as_offset_by_hand():
    rewards = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.75, 0.25]]).double()
    same(weigh("min_baseline", rewards, {}), torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.5, 0.0]]).double())

"""Masses and expected gradients against enumeration over all groups."""

import itertools
import math

import pytest
import torch
from support.members import ACROSS_GROUPS, STATE, WITHOUT_CLOSED_FORM, exact, member, weigh

from rlvr import estimators
from rlvr.estimators import Estimator, inputs_at_reference


def skip_without_closed_form(name: str, settings: dict) -> None:
    if name in WITHOUT_CLOSED_FORM or (name, settings) in ACROSS_GROUPS:
        pytest.skip("its masses depend on more than the solve rate")


def test_all_others_have_a_closed_form():
    assert {name for name in estimators.names() if not estimators.kind(name).formula} == WITHOUT_CLOSED_FORM


@member
@pytest.mark.parametrize("rollouts", [2, 3, 8, 16])
def test_masses_are_the_closed_form(name, settings, rollouts):
    """m_S(p) and m_F(p) by enumeration over the number of successes, to 1e-12."""
    skip_without_closed_form(name, settings)
    successes = torch.arange(rollouts + 1, dtype=torch.float64)
    rewards = (torch.arange(rollouts) < successes[:, None]).double()
    settings = exact(name, settings)
    stated = Estimator(name, settings).masses(successes / rollouts, rollouts, STATE)
    weights = weigh(name, rewards, inputs_at_reference(rewards), **settings)
    found = (weights * rewards).mean(1), -(weights * (1 - rewards)).mean(1)
    for ours, theirs, sign in zip(found, stated, "SF", strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12, msg=lambda m, s=sign: f"m_{s}: {m}")


def test_t2t_masses_are_fades_where_lengths_agree_within_a_class():
    """FADE Eq. 12-14: A_S = q C / sigma, A_F = -p C / sigma with C = 1 - a p L_S - a q L_F."""
    rewards = torch.tensor([[1.0, 1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    lengths = torch.where(rewards == 1, 12.0, 20.0).double()
    weights = weigh("t2t", rewards, {"lengths_PG": lengths}, alpha=0.4, epsilon=0.0)
    p, q, short = 0.6, 0.4, 12 / 20
    c = 1 - 0.4 * p * short - 0.4 * q * 1.0
    sigma = c * math.sqrt(p * q)
    torch.testing.assert_close(weights[0, 0].item(), q * c / sigma)
    torch.testing.assert_close(weights[0, 4].item(), -p * c / sigma)


def policy_gradient(name: str, rollouts: int, settings: dict, theta: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """E[sum_i A_i grad log pi(y_i)] over all groups of answers of a softmax policy, by enumeration."""
    p = theta.softmax(0)
    scores = torch.eye(len(theta), dtype=torch.float64) - p  # grad of log pi(y) by theta, a row an answer
    answers = torch.tensor(list(itertools.product(range(len(theta)), repeat=rollouts)))
    weights = weigh(name, right[answers], inputs_at_reference(right[answers]), **settings)
    return ((weights[..., None] * scores[answers]).sum(1) * p[answers].prod(1)[:, None]).sum(0)


THETA = torch.tensor([0.4, -0.3, 0.9, 0.1], dtype=torch.float64)
RIGHT = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64)


@member
def test_expected_gradient_is_that_of_the_masses(name, settings):
    """FADE Eq. 3 in expectation: the masses of a random group, times the mean scores of either class."""
    skip_without_closed_form(name, settings)
    rollouts, settings = 4, exact(name, settings)
    successes = torch.arange(rollouts + 1, dtype=torch.float64)
    mass_s, mass_f = Estimator(name, settings).masses(successes / rollouts, rollouts, STATE)
    pi = THETA.softmax(0)
    p = float(pi @ RIGHT)
    chances = [math.comb(rollouts, k) * p**k * (1 - p) ** (rollouts - k) for k in range(rollouts + 1)]
    chance = torch.tensor(chances, dtype=torch.float64)
    scores = torch.eye(4, dtype=torch.float64) - pi
    score_s = (pi * RIGHT) @ scores / p
    score_f = (pi * (1 - RIGHT)) @ scores / (1 - p)
    expected = rollouts * ((chance @ mass_s) * score_s - (chance @ mass_f) * score_f)
    torch.testing.assert_close(
        policy_gradient(name, rollouts, settings, THETA, RIGHT), expected, rtol=1e-10, atol=1e-12
    )


def gradient_of(objective) -> torch.Tensor:
    theta = THETA.clone().requires_grad_()
    p = theta.softmax(0) @ RIGHT
    return torch.autograd.grad(objective(p), theta)[0]


def binomial_mean(p, rollouts, value):
    return sum(math.comb(rollouts, k) * p**k * (1 - p) ** (rollouts - k) * value(k) for k in range(rollouts + 1))


@pytest.mark.parametrize("rollouts", [2, 3, 4])
def test_expected_gradients_are_those_of_the_named_objectives(rollouts):
    """Leave-one-out baselines are unbiased: for pass@1 (RLOO), pass@G (Tang), the soft maximum (LogMeanExp)."""

    def check(name, objective, **settings):
        found = policy_gradient(name, rollouts, settings, THETA, RIGHT)
        torch.testing.assert_close(found, gradient_of(objective), rtol=1e-10, atol=1e-12)

    check("rloo", lambda p: rollouts * p)
    check("reinforce", lambda p: rollouts * p)
    check("psr", lambda p: rollouts * p)
    check("nsr", lambda p: rollouts * p)  # -(1 - r) has the gradient of r
    check("dr_grpo", lambda p: (rollouts - 1) * p)
    check("pass_at_k_loo", lambda p: 1 - (1 - p) ** rollouts)
    check("pass_at_k_loo", lambda p: rollouts / 2 * (1 - (1 - p) ** 2), k=2)
    beta = 2.0
    check(
        "log_mean_exp",
        lambda p: binomial_mean(p, rollouts, lambda k: math.log(1 + math.expm1(beta) * k / rollouts) / beta),
        beta=beta,
    )

"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

import itertools
import math

import numpy as np
import pytest
from support.ledger import verdicts

from rlvr.papers.pacs import theory
from rlvr.theory._policy import LOGITS, PI, RIGHT

CONDITIONAL = {"actor_and_critic", "bounded_residual", "effective_advantage", "first_step", "vanishing"}
FAILS = {"diverse_minimum", "gibbs_form", "minimised_sign", "printed_derivative", "rloo_variance", "variance_reduced"}


def test_the_verdicts_are_these():
    found = verdicts("pacs")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3


def _trace(weight) -> float:
    """The trace of the covariance of the mean of w(i) grad log pi(y_i) over all groups of 4 answers, in numpy."""
    pi, score = PI.numpy(), np.eye(5) - PI.numpy()
    rows = [(math.prod(pi[y] for y in group), weight(group) @ score[list(group)] / 4) for group in GROUPS]
    mean = sum(chance * update for chance, update in rows)
    return float(sum(chance * (update - mean) @ (update - mean) for chance, update in rows))


GROUPS = list(itertools.product(range(5), repeat=4))


def test_the_variance_of_the_effective_advantage_is_that_of_its_constant_baseline():
    right = RIGHT.numpy()

    def rloo(group):
        rewards = right[list(group)]
        return 4 / 3 * (rewards - rewards.mean())

    ratio = _trace(lambda group: right[list(group)] - 0.5 - math.log(2)) / _trace(rloo)
    assert theory.variance_reduced().deviation == pytest.approx(ratio - 1, rel=1e-9)
    assert _trace(lambda group: right[list(group)] - 0.5) / _trace(rloo) == pytest.approx(0.64, abs=5e-3)


def test_the_largest_weight_with_an_actor_term_is_that_by_hand():
    """One wrong response with a proxy of 20, seven right ones with -20: psi = 40, l = -40; the residuals give -2."""
    assert theory.bounded_residual().deviation == pytest.approx(40, abs=0.01)


def test_the_actor_terms_of_the_others_are_what_is_missing():
    """Finite differences of the enumerated expectation, and the missing terms in numpy, groups of three."""
    log_reference = theory.REFERENCE.log_softmax(0).numpy()
    right = RIGHT.numpy()
    groups = np.array(list(itertools.product(range(5), repeat=3)))

    def terms(logits):
        log_pi = logits - np.log(np.exp(logits).sum())
        proxy = (log_pi - log_reference)[groups]
        psi = 3 / 2 * (proxy - proxy.mean(1, keepdims=True))
        sign = 2 * right[groups] - 1
        return np.exp(log_pi[groups].sum(1)), -np.log1p(np.exp(-sign * psi)), log_pi

    def value(logits):
        chance, likelihood, _ = terms(logits)
        return chance @ likelihood.mean(1)

    logits, steps = LOGITS.numpy(), 1e-6 * np.eye(5)
    slope = np.array([(value(logits + h) - value(logits - h)) / 2e-6 for h in steps])
    whole, stated = theory._group_terms(3)
    assert whole.numpy() == pytest.approx(slope, abs=1e-8)
    chance, likelihood, log_pi = terms(logits)
    score = (np.eye(5) - np.exp(log_pi))[groups]  # of each response of each group
    others = score.sum(1, keepdims=True) - score
    assert (whole - stated).numpy() == pytest.approx(
        np.einsum("n,ng,ngv->v", chance, likelihood, others) / 3, abs=1e-10
    )

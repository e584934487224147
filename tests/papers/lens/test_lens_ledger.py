"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

import math

import pytest
from scipy import stats
from support.ledger import verdicts

from rlvr.papers.lens import theory
from rlvr.theory._policy import PI, P

CONDITIONAL = {
    "consistency",
    "difficulty_range",
    "importance_estimate",
    "policy_preference",
    "preference_gradient",
    "value_function",
}
FAILS = {"derivative_line", "length_preference"}


def test_the_verdicts_are_these():
    found = verdicts("lens")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3


def test_the_size_of_an_all_wrong_group_is_that_by_hand():
    """Of two confidences, 0.75 and 0.9, the penalties are 5/7 and 1: j of 16 at 1 give 2 j (16 - j) / 16 times 2/7."""
    apart = [(stats.binom.pmf(j, 16, 0.5), j * (16 - j) / 16) for j in range(1, 16)]
    absolute = 0.25 / 16 * sum(pmf * 2 * spread * 2 / 7 for pmf, spread in apart)
    squared = (0.25 / 16 * 2 / 7) ** 2 * sum(pmf * spread for pmf, spread in apart)
    assert theory.size_all_wrong(theory.EXTREMES) == pytest.approx((absolute, squared), rel=1e-9)


def test_the_share_of_all_wrong_groups_is_that_by_hand():
    """A mixed group with one error has GRPO's weights, whatever its confidence: |A| sums to 2 sqrt(15), A^2 to 16."""
    negative = theory.size_all_wrong(theory.EXTREMES)
    assert theory.size_mixed(theory.EXTREMES, 15) == pytest.approx((2 * math.sqrt(15), 16), rel=1e-9)
    shares = theory.negative_share(theory.EXTREMES, 15)
    stated = [0.45 * n / (0.45 * n + 0.55 * m) for n, m in zip(negative, (2 * math.sqrt(15), 16), strict=True)]
    assert shares == pytest.approx(stated, rel=1e-9) and 0.003 < shares[0] < 0.004
    found = theory.negative_groups_share().detail
    assert "0.11 to 0.24 %" in found and "0.35 %" in found and "1.3 % for any" in found


def test_the_substituted_penalty_is_28_orders_too_large():
    exact, substituted = 1 / (2**100 - 1), 1 / 100  # a = 2, n = 100
    assert f"-{exact:.1e}" in theory.length_preference().detail and substituted / exact > 1e28
    assert f"factor of {(1.01**500 - 1) / 5:.0f}" in theory.length_preference().detail
    least = 1 / (10 * (2**0.1 - 1)) - 1  # at the shortest response and a reward of -1
    assert theory.length_preference().deviation == pytest.approx(least, rel=1e-9)


def test_d_imp_is_biased_as_a_binomial_of_binomials_says():
    a, b, total = float(PI[0]), float(PI[1]), 0.0
    for successes in range(1, 17):
        first = stats.binom.pmf(range(successes + 1), successes, a / (a + b))
        mean = sum(first[i] * 16 / (i / a + (successes - i) / b) for i in range(successes + 1))
        total += stats.binom.pmf(successes, 16, P) * mean
    assert theory.importance_estimate().deviation == pytest.approx(total / (1 - (1 - P) ** 16) - 0.5, rel=1e-9)

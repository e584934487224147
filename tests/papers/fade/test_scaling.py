"""Laws of pass@k and Beta mixtures: planted parameters are found, pass@k of counts is the unbiased estimator."""

import numpy as np
import pytest
from scipy import integrate, stats

from rlvr.papers.fade import scaling
from rlvr.statistics.pass_at_k import pass_at_k, pass_at_ks

KS = np.array([1.0, 2, 5, 10, 20, 50, 100])


@pytest.mark.parametrize("a, b, c", [(1.7, 0.6, 0.8), (3.0, 1.2, 4.0), (0.4, 0.3, 0.0)])
def test_a_planted_law_is_found(a, b, c):
    found = scaling.fit("shifted power law", KS, scaling.shifted_power(KS, a, b, c))
    assert found.parameters == pytest.approx((a, b, c), rel=1e-3, abs=1e-3) and found.mse < 1e-10


def test_each_law_fits_itself_best():
    curves = {"power law": scaling.power(KS, 1.3, 0.7), "exponential law": scaling.exponential(KS, 0.8, 0.15)}
    for name, values in curves.items():
        errors = {law: scaling.fit(law, KS, values).mse for law in curves}
        assert min(errors, key=errors.__getitem__) == name and errors[name] < 1e-12


def test_pass_at_k_of_counts_is_the_mean_over_problems():
    correct = np.random.default_rng(0).integers(0, 9, 40)
    counts = np.bincount(correct, minlength=9)
    expected = [float(pass_at_k(np.full(40, 8), correct, k).mean()) for k in (1, 2, 8)]
    assert pass_at_ks(counts, [1, 2, 8]) == pytest.approx(expected)


@pytest.mark.parametrize("a, b", [(0.7, 2.5), (1.0, 1.0), (2980.0, 3e-4), (40.0, 0.01)])
@pytest.mark.parametrize("n", [1, 16, 256])
def test_shares_are_those_of_scipy(a, b, n):
    """So are those of a mixture, by their weights."""
    expected = stats.betabinom.pmf(np.arange(n + 1), n, a, b)
    assert scaling.shares((a, b), n) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    other = stats.betabinom.pmf(np.arange(n + 1), n, 2.0, 3.0)
    assert scaling.shares((0.3, a, b, 2.0, 3.0), n) == pytest.approx(0.3 * expected + 0.7 * other, rel=1e-12)


def test_a_planted_mixture_is_found():
    n = 32
    planted = (0.6, 6.0, 1.2, 0.5, 4.0)
    counts = np.round(1e6 * scaling.shares(planted, n)).astype(int)
    one, two = (scaling.fit_mixture(counts, law) for law in scaling.MIXTURES)
    assert two.mse < 1e-9 < one.mse
    assert scaling.shares(two.parameters, n) == pytest.approx(scaling.shares(planted, n), abs=1e-4)
    assert two.parameters == pytest.approx((0.4, 0.5, 4.0, 6.0, 1.2), rel=0.03), "harder problems first"


def test_pass_at_k_of_a_mixture_is_its_integral():
    for k in (1, 7, 50):
        parts = [
            w * integrate.quad(lambda p, a=a, b=b, k=k: (1 - (1 - p) ** k) * stats.beta.pdf(p, a, b), 0, 1)[0]
            for w, a, b in ((0.3, 0.6, 3.0), (0.7, 2.0, 2.0))
        ]
        found = scaling.mixture(np.array([k]), 0.3, 0.6, 3.0, 2.0, 2.0)
        assert float(found[0]) == pytest.approx(sum(parts), rel=1e-5)


def test_a_planted_distribution_is_found_in_fewer_samples():
    """Of 40 samples of Beta(0.7, 2.5) ten are seen: pass@40 follows from them."""
    counts = np.round(1e7 * scaling.shares((0.7, 2.5), 40)).astype(int)
    found = scaling.fit_solve_rates("Beta-binomial", counts, 10)
    assert found == pytest.approx((0.7, 2.5), rel=1e-3)
    assert scaling.mixture(np.array([40.0]), *found) == pytest.approx(pass_at_ks(counts, [40]), abs=1e-4)

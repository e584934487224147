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
    assert found.at(KS) == pytest.approx(scaling.shifted_power(KS, a, b, c), abs=1e-5)


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


def test_a_planted_mixture_is_found():
    n = 32
    law = scaling.Mixture((0.4, 0.6), ((0.5, 4.0), (6.0, 1.2)), 0.0)
    counts = np.round(1e6 * law.shares(n)).astype(int)
    two, one = (scaling.fit_mixture(counts, components) for components in (2, 1))
    assert two.mse < 1e-9 < one.mse
    assert two.shares(n) == pytest.approx(law.shares(n), abs=1e-4)
    assert sorted(two.weights) == pytest.approx([0.4, 0.6], abs=0.01)


def test_pass_at_k_of_a_mixture_is_its_integral():
    law = scaling.Mixture((0.3, 0.7), ((0.6, 3.0), (2.0, 2.0)), 0.0)
    for k in (1, 7, 50):
        parts = [
            w * integrate.quad(lambda p, a=a, b=b, k=k: (1 - (1 - p) ** k) * stats.beta.pdf(p, a, b), 0, 1)[0]
            for w, (a, b) in zip(law.weights, law.shapes, strict=True)
        ]
        assert float(law.pass_at_k(np.array([k]))[0]) == pytest.approx(sum(parts), rel=1e-5)


def test_a_mixtures_parameters_are_ordered_and_make_it_again():
    law = scaling.Mixture((0.6, 0.4), ((6.0, 1.2), (0.5, 4.0)), 0.0)
    assert law.parameters == (0.4, 0.5, 4.0, 6.0, 1.2), "harder problems first"
    assert scaling.Mixture.of(law.parameters).pass_at_k(KS) == pytest.approx(law.pass_at_k(KS))
    one = scaling.Mixture((1.0,), ((0.5, 2.0),), 0.0)
    assert one.parameters == (0.5, 2.0) and scaling.Mixture.of((0.5, 2.0)).pass_at_k(KS) == pytest.approx(
        one.pass_at_k(KS)
    )


def test_a_planted_distribution_is_found_in_fewer_samples():
    """Of 40 samples of Beta(0.7, 2.5) ten are seen: pass@40 follows from them."""
    law = scaling.Mixture((1.0,), ((0.7, 2.5),), 0.0)
    counts = np.round(1e7 * law.shares(40)).astype(int)
    found = scaling.fit_solve_rates("Beta-binomial", counts, 10)
    assert found == pytest.approx((0.7, 2.5), rel=1e-3)
    assert scaling.pass_at_k_of("Beta-binomial", np.array([40.0]), found) == pytest.approx(
        pass_at_ks(counts, [40]), abs=1e-4
    )

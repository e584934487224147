"""pass@k against the hypergeometric law; intervals against simulation and simple cases."""

import time
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scores_by_hand import LAYOUT, on_x

from rlvr.statistics.intervals import SeedsAndProblems, over_samples, over_seeds
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.table_rows import holm
from rlvr.statistics.table_rows import pass_at_k_rows as summarise


@pytest.mark.parametrize("n", [1, 2, 7, 64, 300])
def test_pass_at_k_is_the_hypergeometric_tail(n):
    counts = np.arange(n + 1)
    for k in {1, 2, max(1, n // 2), n}:
        if k <= n:
            np.testing.assert_allclose(pass_at_k(n, counts, k), stats.hypergeom.sf(0, n, counts, k), atol=1e-12)


def test_pass_at_k_does_not_overflow():
    assert pass_at_k(100_000, 3, 1) == pytest.approx(3e-5)


def test_pass_at_k_is_the_ratio_of_binomials_for_problems_of_different_n():
    generator = np.random.Generator(np.random.Philox(2))
    for _ in range(300):
        n = generator.integers(1, 60, size=(2, 3))
        c, k = generator.integers(0, n + 1), int(generator.integers(1, n.min() + 1))
        pairs = zip(n.ravel().tolist(), c.ravel().tolist(), strict=True)
        exact = [1 - Fraction(comb(all_ - right, k), comb(all_, k)) for all_, right in pairs]
        np.testing.assert_allclose(pass_at_k(n, c, k).ravel(), [float(value) for value in exact], rtol=0, atol=1e-15)


def test_pass_at_k_of_very_many_samples():
    """Every c of n = 100,000 in one pass; a loop over them takes minutes."""
    counts = np.arange(0, 100_001, 1000)
    began = time.process_time()
    found = pass_at_k(100_000, np.arange(100_001), 8)[counts]
    over_samples(np.full(3, 100_000), np.array([0, 5, 70_000]), 8, 0.95)
    assert time.process_time() - began < 2
    np.testing.assert_allclose(found, stats.hypergeom.sf(0, 100_000, counts, 8), atol=1e-10)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 1, 5), (4, 5, 1), (4, -1, 1), (4, 1, 0)])
def test_pass_at_k_refuses_what_makes_no_sense(n, c, k):
    with pytest.raises(ValueError, match=r"samples|0\.\.n"):
        pass_at_k(n, c, k)


def bootstrap(seeds, problems, seed=0, resamples=4000):
    return SeedsAndProblems(
        seeds, problems, resamples=resamples, confidence=0.95, generator=np.random.default_rng(seed)
    )


def test_bootstrap_of_one_seed_is_that_of_problems():
    values = np.random.default_rng(1).random((1, 60))
    interval = bootstrap(3, 60).of(values)
    reference = stats.bootstrap(
        (values[0],), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(2)
    ).confidence_interval
    assert interval.low == pytest.approx(reference.low, abs=0.01)
    assert interval.high == pytest.approx(reference.high, abs=0.01)


def test_a_difference_is_paired():
    """Two methods that differ by a constant on every problem differ by it without doubt."""
    left = np.random.default_rng(1).random((3, 50))
    interval = bootstrap(3, 50).of_difference(left, left - 0.1)
    assert (interval.low, interval.high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_the_p_of_a_difference_is_that_of_the_interval_which_reaches_zero():
    generator = np.random.default_rng(4)
    left, right = generator.normal(0.5, 0.2, (1, 60)), generator.normal(0.43, 0.2, (1, 60))
    made = bootstrap(1, 60, resamples=20_000)
    p = made.of_difference(left, right).p
    assert p == pytest.approx(stats.ttest_rel(left[0], right[0]).pvalue, rel=0.25)
    assert p == made.of_difference(right, left).p
    draws = made.draws(left) - made.draws(right)
    assert abs(np.quantile(draws, p / 2 if draws.mean() > 0 else 1 - p / 2)) < 0.002
    assert made.of_difference(left, left).p == 1 and made.of_difference(left + 1, left).p == pytest.approx(2 / 20_001)


@pytest.mark.parametrize(("between_problems", "uniform"), [(0.2, True), (0.0, False)])
def test_p_of_a_true_null(between_problems, uniform):
    """Uniform where methods differ from problem to problem; conservative where all is noise (Owen 2007, sec. 5)."""
    generator, found = np.random.default_rng(5), []
    for trial in range(300):
        left, right = (
            generator.normal(0.5, between_problems, (1, 60)) + generator.normal(0, 0.1, (4, 60)) for _ in range(2)
        )
        found.append(bootstrap(4, 60, seed=trial, resamples=400).of_difference(left, right).p)
    assert np.mean(np.array(found) <= 0.05) <= 0.08
    if uniform:
        assert stats.kstest(found, "uniform").pvalue > 0.01


def test_holm_by_hand():
    """Holm (1979): the i-th smallest of m times m - i + 1, never below the one before; a blank is no test."""
    p = pd.Series([0.01, np.nan, 0.04, 0.03, 0.6], index=[3, 1, 4, 0, 9])
    np.testing.assert_allclose(holm(p), [0.04, np.nan, 0.09, 0.09, 0.6])
    assert holm(pd.Series([np.nan, None], dtype=float)).isna().all()


def test_coverage_over_problems_and_seeds():
    """About 95 of 100 intervals hold the truth; with five seeds a percentile bootstrap is a little short."""
    generator = np.random.default_rng(3)
    held = 0
    for trial in range(200):
        seeds, problems = generator.normal(0, 0.02, (5, 1)), generator.normal(0.5, 0.2, (1, 80))
        interval = bootstrap(5, 80, seed=trial, resamples=400).of(seeds + problems + generator.normal(0, 0.1, (5, 80)))
        held += interval.low <= 0.5 <= interval.high
    assert 170 <= held <= 200


def test_same_generator_same_interval():
    values = np.random.default_rng(1).random((3, 40))
    assert bootstrap(3, 40).of(values) == bootstrap(3, 40).of(values)


def test_over_seeds_is_students_t():
    values = np.array([1.0, 2.0, 4.0])
    interval = over_seeds(values, 0.95)
    low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    assert np.isnan(over_seeds(values[:1], 0.95).low)


def test_scored_table_by_hand():
    frames = on_x({"a1": [0, 4], "a2": [2, 4], "b1": [1, 4], "b2": [3, 4]})
    published = pd.DataFrame(
        {"model": ["m"], "method": ["A"], "benchmark": ["MATH 500"], "k": [1], "value": [70.0], "ci": [1.5]}
    )
    table = summarise(LAYOUT, frames, published).set_index(["arm", "k"])
    assert table.loc[("a", 1), "value"] == pytest.approx(100 * (0 + 1 + 0.5 + 1) / 4)
    assert table.loc[("a", 2), "value"] == pytest.approx(100 * (0 + 1 + (1 - 1 / 6) + 1) / 4)
    assert table.loc[("b", 1), "difference"] == pytest.approx(100 * (0.25 + 0.25) / 4)
    assert table.loc[("a", 1), "published"] == 70 and table.loc[("a", 1), "minus_published"] == pytest.approx(-7.5)
    assert table["difference_p"].notna().tolist() == [False, False, True, True]
    assert (table["difference_p_holm"].dropna() >= table["difference_p"].dropna()).all()
    assert np.isnan(table.loc[("b", 1), "published"]) and np.isnan(table.loc[("a", 1), "difference"])
    assert table.loc[("a", 1), "policies"] == "a1 a2"


def test_tables_and_pages_mark_what_stays_after_the_correction():
    """2 correct of 4 against 1 on every second problem: (1/2 - 1/4) / 2 at k = 1, (5/6 - 1/2) / 2 at k = 2."""
    from rlvr.tables.pass_at_k import render, sentences

    frames = on_x({"a1": [1] * 40, "a2": [1] * 40, "b1": [2, 1] * 20, "b2": [2, 1] * 20})
    layout = {**LAYOUT, "title": "T", "scale": "laptop", "about_scale": "", "note": "", "compare_label": "a"}
    layout |= {
        "sampling": "",
        "kind": "pass_at_k",
        "statistics": {"resamples": 999, "confidence": 0.95, "seed": 0},
    }
    table = summarise(layout, frames, None)
    shown = render(layout, table, None)
    assert [str(cell)[:6] for cell in shown.frame.iloc[-1, -2:]] == ["+12.5†", "+16.7†"]
    assert any(
        note.startswith("†: differs from a at 5 % after Holm's correction over the table's 2") for note in shown.notes
    )
    assert "$\\dagger$" in shown.latex() and sentences(table, 0.05)[0].endswith(", higher.")
    assert "Checkpoint: the last step of each run." in shown.notes
    selected = render({**layout, "selected": {"B": "another set (8 problems x 4 samples)"}}, table, None).notes
    assert any(
        note.startswith("Checkpoint: of B the probed step of each run with the best pass rate on another set (8")
        and note.endswith("the earliest; of all others the last step.")
        for note in selected
    )
    doubtful = table.assign(difference_p_holm=0.2)
    assert "†" not in "".join(render(layout, doubtful, None).frame.iloc[-1])
    assert sentences(doubtful, 0.05)[0].endswith("higher in this cell alone, not over the whole table.")


def test_scores_of_other_problems_are_refused():
    frames = on_x({**{name: [1, 2] for name in ("a1", "a2", "b1")}, "b2": [1, 2, 3]})
    with pytest.raises(ValueError, match="b2 has scores on other problems"):
        summarise(LAYOUT, frames, None)


def test_a_page_says_hours_where_it_took_hours():
    from rlvr.report.page import _duration

    assert (_duration(59.6), _duration(648), _duration(3600), _duration(4248)) == (
        "0 min 59 s",
        "10 min 48 s",
        "1.0 h",
        "1.2 h",
    )


def known_bootstrap(seeds, problems, seed=0, resamples=2000):
    from rlvr.statistics.intervals import SeedsAndKnownProblems

    return SeedsAndKnownProblems(
        seeds, problems, resamples=resamples, confidence=0.95, generator=np.random.default_rng(seed)
    )


def test_where_every_problem_has_a_value_nothing_changes():
    values = np.random.default_rng(1).random((3, 40))
    found, expected = known_bootstrap(3, 40).of(values), bootstrap(3, 40, resamples=2000).of(values)
    assert (found.estimate, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))
    left, right = values, values[:1] ** 2
    found = known_bootstrap(3, 40).of_difference(left, right)
    expected = bootstrap(3, 40, resamples=2000).of_difference(left, right)
    assert (found.estimate, found.low, found.p) == pytest.approx((expected.estimate, expected.low, expected.p))


def test_a_measure_that_some_problems_have_not_by_hand():
    nan = float("nan")
    left, right = np.array([[1.0, 3.0, nan], [5.0, nan, nan]]), np.array([[0.0, nan, 9.0], [1.0, 1.0, 1.0]])
    made = known_bootstrap(2, 3)
    assert made.of(left).estimate == pytest.approx((2 + 5) / 2), "a seed's mean over what it has, then over seeds"
    difference = made.of_difference(left, right)
    assert difference.estimate == pytest.approx((1 + 4) / 2), "where both have a value, seed by seed"
    assert (difference.low, difference.high) == (1, 4)
    one = known_bootstrap(2, 3).of(np.array([[1.0, 3.0, nan], [nan, nan, nan]]))
    assert one.estimate == 2 and (one.low, one.high) == (1, 3)
    none = made.of_difference(np.full((2, 3), nan), right)
    assert np.isnan([none.estimate, none.low, none.p]).all()

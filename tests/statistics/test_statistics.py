"""pass@k against the hypergeometric law; intervals against simulation and simple cases."""

import time
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, on_x

from rlvr.config.layouts import ScoresLayout
from rlvr.statistics.intervals import SeedsAndKnownProblems, SeedsAndProblems, over_samples, over_seeds, two_way
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.references import Reference
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


INTERVALS = SeedsAndProblems(0.95)


def test_one_seed_is_students_t_over_problems_and_one_problem_over_seeds():
    values = np.random.default_rng(1).random((1, 60))
    expected = stats.ttest_1samp(values[0], 0).confidence_interval(0.95)
    for made in (INTERVALS.of(values), INTERVALS.of(values.T)):
        assert (made.low, made.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert np.isnan(INTERVALS.of(values[:, :1]).low), "a single number has no spread"


def test_where_problems_vary_alone_seeds_are_copies_of_one_and_the_other_way_round():
    """Equal rows say nothing about seeds: the interval is that of one row; equal columns likewise."""
    values = np.random.default_rng(2).random((1, 40))
    for copies in (np.repeat(values, 4, axis=0), np.repeat(values, 4, axis=0).T):
        made, one = INTERVALS.of(copies), INTERVALS.of(values)
        assert (made.low, made.high) == (pytest.approx(one.low), pytest.approx(one.high))


def test_the_variance_of_a_mean_by_hand():
    """2 seeds x 2 problems: seeds' means 2 and 4, problems' 2.5 and 3.5, remainder 0.5: a two-way ANOVA's table."""
    found = two_way(np.array([[1.0, 3.0], [4.0, 4.0]]))
    of_seeds, of_problems, rest = 2.0 / 2, 0.5 / 2, (4 * 0.5**2) / 1 / 4
    total = of_seeds + of_problems - rest
    freedom = max(total**2 / (of_seeds**2 + of_problems**2 + rest**2), 1)
    assert found.mean == 3
    variances = [(error**2, degrees) for error, degrees in found.errors]
    assert sum(variances, ()) == pytest.approx((of_seeds, 1, of_problems, 1, total, freedom))
    widest = max(stats.t.ppf(0.975, degrees) * error for error, degrees in found.errors)
    assert found.half_width(0.025) == pytest.approx(widest)


def test_the_estimated_variance_is_the_true_one_on_average():
    generator, found, means = np.random.default_rng(8), [], []
    for _ in range(3000):
        x = generator.normal(0, 0.4, (6, 1)) + generator.normal(0, 0.6, (1, 9)) + generator.normal(0, 1.0, (6, 9))
        made = two_way(x)
        found.append(made.errors[-1][0] ** 2)
        means.append(made.mean)
    truth = 0.16 / 6 + 0.36 / 9 + 1.0 / 54
    assert np.mean(found) == pytest.approx(truth, rel=0.05) and np.var(means) == pytest.approx(truth, rel=0.08)


def test_a_difference_is_paired():
    """Two methods that differ by a constant on every problem differ by it without doubt."""
    left = np.random.default_rng(1).random((3, 50))
    interval = INTERVALS.of_difference(left, left - 0.1)
    assert (interval.low, interval.high) == (pytest.approx(0.1), pytest.approx(0.1))
    assert interval.p < 1e-12 and INTERVALS.of_difference(left, left).p == 1


def test_the_p_of_a_difference_is_that_of_the_interval_which_reaches_zero():
    generator = np.random.default_rng(4)
    left, right = generator.normal(0.5, 0.2, (1, 60)), generator.normal(0.43, 0.2, (1, 60))
    p = INTERVALS.of_difference(left, right).p
    assert p == pytest.approx(stats.ttest_rel(left[0], right[0]).pvalue) == INTERVALS.of_difference(right, left).p
    left, right = generator.normal(0.5, 0.2, (4, 60)), generator.normal(0.45, 0.2, (4, 60))
    at_p = SeedsAndProblems(1 - INTERVALS.of_difference(left, right).p).of_difference(left, right)
    assert min(abs(at_p.low), abs(at_p.high)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize(("between_seeds", "between_problems"), [(0.0, 0.2), (0.05, 0.2), (0.1, 0.0), (0.0, 0.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(seeds, between_seeds, between_problems):
    """95 of 100, or more where no units vary (Owen 2007, sec. 5), also with three seeds that lie far apart."""
    generator, held = np.random.default_rng(5), 0
    for _ in range(1000):
        x = generator.normal(0, between_seeds, (seeds, 1)) + generator.normal(0.5, between_problems, (1, 60))
        made = INTERVALS.of(x + generator.normal(0, 0.1, (seeds, 60)))
        held += made.low <= 0.5 <= made.high
    assert held >= 925
    assert held <= 970 or between_seeds == between_problems == 0.0 or seeds == 3


def test_holm_by_hand():
    """Holm (1979): the i-th smallest of m times m - i + 1, never below the one before; a blank is no test."""
    p = pd.Series([0.01, np.nan, 0.04, 0.03, 0.6], index=[3, 1, 4, 0, 9])
    np.testing.assert_allclose(holm(p), [0.04, np.nan, 0.09, 0.09, 0.6])
    assert holm(pd.Series([np.nan, None], dtype=float)).isna().all()


def test_over_seeds_is_students_t():
    values = np.array([1.0, 2.0, 4.0])
    interval = over_seeds(values, 0.95)
    low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    assert np.isnan(over_seeds(values[:1], 0.95).low)


def test_scored_table_by_hand():
    frames = on_x({"a1": [0, 4], "a2": [2, 4], "b1": [1, 4], "b2": [3, 4]})
    cell = {"model": "m", "method": "A", "benchmark": "MATH 500", "k": 1, "value": 70.0, "ci": 1.5}
    published = Reference(pd.DataFrame([cell]))
    table = summarise(LAYOUT, frames, published).set_index(["arm", "k"])
    assert table.loc[("a", 1), "value"] == pytest.approx(100 * (0 + 1 + 0.5 + 1) / 4)
    assert table.loc[("a", 2), "value"] == pytest.approx(100 * (0 + 1 + (1 - 1 / 6) + 1) / 4)
    assert table.loc[("b", 1), "difference"] == pytest.approx(100 * (0.25 + 0.25) / 4)
    assert table.loc[("a", 1), "published"] == 70 and table.loc[("a", 1), "minus_published"] is None, "of a stand-in"
    own = typed(ScoresLayout, LAYOUT, cells=[{**dict(cell), "stand_in": "M"} for cell in LAYOUT.cells])
    assert summarise(own, frames, published)["minus_published"].iloc[0] == pytest.approx(-7.5), "of the paper's model"
    assert table["difference_p"].notna().tolist() == [False, False, True, True]
    assert (table["difference_p_holm"].dropna() >= table["difference_p"].dropna()).all()
    assert np.isnan(table.loc[("b", 1), "published"]) and np.isnan(table.loc[("a", 1), "difference"])
    assert table.loc[("a", 1), "policies"] == "a1 a2"


def test_tables_and_pages_mark_what_stays_after_the_correction():
    """2 correct of 4 against 1 on every second problem: (1/2 - 1/4) / 2 at k = 1, (5/6 - 1/2) / 2 at k = 2."""
    from rlvr.tables.pass_at_k import render, sentences

    frames = on_x({"a1": [1] * 40, "a2": [1] * 40, "b1": [2, 1] * 20, "b2": [2, 1] * 20})
    layout = typed(ScoresLayout, LAYOUT, statistics={"resamples": 999})
    table = summarise(layout, frames, None)
    shown = render(layout, table, None)
    assert [str(cell)[:6] for cell in shown.frame.iloc[-1, -2:]] == ["+12.5†", "+16.7†"]
    assert "†: differs from a at 5 % after Holm's correction over the table's 2" in "\n".join(shown.notes)
    assert "$\\dagger$" in shown.latex() and sentences(table, 0.05)[0].endswith(", higher.")
    assert "Checkpoint: the last step of each run." in shown.notes
    of_b = typed(ScoresLayout, layout, selected={"B": "another set (8 problems x 4 samples)"})
    (note,) = (note for note in render(of_b, table, None).notes if note.startswith("Checkpoint: "))
    assert note.startswith("Checkpoint: of B the probed step of each run with the best pass rate on another set (8")
    assert note.endswith("the earliest; of all others the last step.")
    doubtful = table.assign(difference_p_holm=0.2)
    assert "†" not in "".join(render(layout, doubtful, None).frame.iloc[-1])
    assert sentences(doubtful, 0.05)[0].endswith("higher in this cell alone, not over the whole table.")


def test_scores_of_other_problems_are_refused():
    frames = on_x({**{name: [1, 2] for name in ("a1", "a2", "b1")}, "b2": [1, 2, 3]})
    with pytest.raises(ValueError, match="b2 has scores on other problems"):
        summarise(LAYOUT, frames, None)


def test_a_page_says_hours_where_it_took_hours():
    from rlvr.report.runs import duration

    texts = {59.6: "0 min 59 s", 648: "10 min 48 s", 3600: "1.0 h", 4248: "1.2 h"}
    assert {seconds: duration(seconds) for seconds in texts} == texts


KNOWN = SeedsAndKnownProblems(0.95)


def test_where_every_problem_has_a_value_nothing_changes():
    values = np.random.default_rng(1).random((3, 40))
    known, every = ([one.of(values), one.of_difference(values, values[:1] ** 2)] for one in (KNOWN, INTERVALS))
    for found, expected in zip(known, every, strict=True):
        assert vars(found) == pytest.approx(vars(expected))


def test_a_measure_that_some_problems_have_not_by_hand():
    nan = float("nan")
    left, right = np.array([[1.0, 3.0, nan], [5.0, nan, nan]]), np.array([[0.0, nan, 9.0], [1.0, 1.0, 1.0]])
    assert KNOWN.of(left).estimate == pytest.approx((2 + 5) / 2), "a seed's mean over what it has, then over seeds"
    difference = KNOWN.of_difference(left, right)
    assert difference.estimate == pytest.approx((1 + 4) / 2), "where both have a value, seed by seed"
    one = KNOWN.of(np.array([[1.0, 3.0, nan], [nan, nan, nan]]))
    expected = stats.ttest_1samp([2 - 1 / (2 / 3), 2 + 1 / (2 / 3), 2], 0).confidence_interval(0.95)
    assert one.estimate == 2 and (one.low, one.high) == pytest.approx((expected.low, expected.high))
    none = KNOWN.of_difference(np.full((2, 3), nan), right)
    assert np.isnan([none.estimate, none.low, none.p]).all()


def test_unknown_values_widen_an_interval_as_fewer_problems_do():
    values = np.random.default_rng(3).random((1, 400))
    some = np.where(np.arange(400) % 2 == 0, values, np.nan)
    half, fewer = KNOWN.of(some), INTERVALS.of(values[:, ::2])
    assert half.estimate == pytest.approx(fewer.estimate)
    assert half.high - half.low == pytest.approx(fewer.high - fewer.low, rel=0.01)

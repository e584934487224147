"""Ranks, probability of improvement and methods at equal pass@1, by hand, by scipy, by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, on_x

from rlvr.config.layouts import ScoresLayout
from rlvr.papers.methods.figures import league_tree
from rlvr.papers.methods.ranking import methods_at, probability_of_improvement, ranks
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.table_rows import false_discovery


def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("shifts", "expected"), [((0.2, 0.9, 0.5), (3, 1, 2)), ((0, 0, 1), (2.5, 2.5, 1))])
def test_methods_that_are_far_apart_have_certain_ranks_and_equal_ones_share_theirs(shifts, expected):
    noise = 0.001 * generator().normal(size=(4, 20))
    found = ranks([noise + shift for shift in shifts], confidence=0.95, generator=generator())
    assert [(one.estimate, one.low, one.high) for one in found] == [(rank,) * 3 for rank in expected]


def test_the_interval_of_a_rank_holds_the_true_one():
    """Five methods of known order: the true rank is inside in most draws, as the bootstrap is rather wide."""
    draw, held = np.random.default_rng(4), 0
    for _ in range(60):
        problem = draw.normal(0, 0.2, (1, 40))
        scores = [0.01 * a + draw.normal(0, 0.02, (6, 1)) + problem + draw.normal(0, 0.05, (6, 40)) for a in range(5)]
        found = ranks(scores, confidence=0.95, generator=draw)
        held += sum(one.low <= 5 - a <= one.high for a, one in enumerate(found))
    assert held / 300 > 0.93


def test_probability_of_improvement_is_scipys_mann_whitney():
    left, right = generator().normal(0.3, 1, 9), np.random.default_rng(1).normal(0, 1, 7)
    left[2] = right[3]  # a tie counts half
    found = probability_of_improvement(left, right, confidence=0.95, generator=generator())
    assert found.estimate == pytest.approx(stats.mannwhitneyu(left, right).statistic / (9 * 7))
    assert found.low <= found.estimate <= found.high
    low, high = np.arange(4.0), np.arange(4.0) + 10
    for left, right, expected in ((high, low, 1.0), (low, high, 0.0), (low, low, 0.5)):
        found = probability_of_improvement(left, right, confidence=0.95, generator=generator())
        assert found.estimate == expected and expected in (0.5, found.low, found.high)


def cell(arm: str, policies: list[str], **more) -> dict:
    return {"arm": arm, "learning_rate": 1.0, "policies": policies, **more}


def test_without_rates_a_method_stands_where_it_is_and_out_of_reach_it_has_none():
    scores = on_x({"a1": [2, 2], "b1": [1, 1], "b2": [4, 4], "c": [0, 0]})
    rates = [{"learning_rate": 0.0, "policies": ["c"]}, {"learning_rate": 1.0, "policies": ["b2"]}]
    short = [{"learning_rate": 0.0, "policies": ["c"]}, {"learning_rate": 1.0, "policies": ["b1"]}]
    cells = [cell("a", ["a1"]), cell("b", ["b1"]), cell("c", ["b2"], rates=rates), cell("d", ["b1"], rates=short)]
    layout = typed(ScoresLayout, LAYOUT, cells=cells)
    (methods,) = methods_at(layout, scores)
    _, plain, curve, beyond = layout.cells
    np.testing.assert_allclose(methods.at_equal(1, plain), [[0.25, 0.25]])
    found = methods.at_equal(1, curve)
    assert found is not None and found.mean() == pytest.approx(0.5), "between 0 and 1 the curve has the baseline's"
    assert methods.at_equal(2, beyond) is None
    value = {"c": 0.8, "b2": 0.2, "b1": 9.0}
    at_equal = [methods.measure_at_equal(lambda p: np.array([value[one] for one in p]), of) for of in (curve, beyond)]
    assert at_equal == [pytest.approx([0.5]), None]


def test_the_tree_joins_what_differs_least():
    """Two methods alike and one far away: alike ones are joined left of the line, the third right of it."""
    counts = {"a": [2, 2, 2, 2] * 5, "b": [2, 2, 2, 3] + [2] * 16, "c": [4, 4, 4, 3] * 5}
    scores = on_x({f"{a}{s}": given for a, given in counts.items() for s in (1, 2, 3)} | {"base": [0] * 20})
    lost = [{"learning_rate": 0.0, "policies": ["base"]}] * 2
    cells = [*(cell(a, [f"{a}{s}" for s in (1, 2, 3)]) for a in counts), cell("lost", ["a1"], rates=lost)]
    layout = typed(ScoresLayout, LAYOUT, cells=cells, k=[1, 2])
    frame = league_tree.statistics(layout, scores)
    assert list(zip(frame["label"], frame["other_label"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    q = frame.set_index(["label", "other_label"])["q"]
    assert q["a", "b"] > 0.05 > max(q["a", "c"], q["b", "c"])
    figure = league_tree.draw(layout, [pd.DataFrame(frame)])
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.get_yticklabels()} == {"a", "b", "c"}
    words = figure.get_supxlabel()
    assert "2 of 3 pairs differ at pass@2" in words and "At no learning rate with the pass@1 of a: lost." in words


def test_a_tree_of_fewer_than_two_methods_says_so(tmp_path):
    """The baseline alone reaches its pass@1: no pair, columns nevertheless, as a file and as a picture."""
    lost = [{"learning_rate": 0.0, "policies": ["c"]}] * 2
    cells = [cell("a", ["a1"]), cell("b", ["b1"], rates=lost)]
    layout = typed(ScoresLayout, LAYOUT, cells=cells, compare_label="GRPO")
    frame = league_tree.statistics(layout, on_x({"a1": [2, 2], "b1": [1, 1], "c": [0, 0]}))
    frame.to_csv(tmp_path / "tree.csv", index=False)
    read = pd.read_csv(tmp_path / "tree.csv")
    assert read.empty and {"arm", "other", "p", "q", "detectable", "seeds"} <= set(read.columns)
    (axes,) = league_tree.draw(layout, [read]).axes
    assert [text.get_text() for text in axes.texts] == ["No two methods have the pass@1 of GRPO."]


def test_false_discoveries_among_pairs_are_few_and_differences_are_found():
    """Six methods, two of them higher: of the pairs told apart few are false, and most true ones are found."""
    draw, intervals, shares, found = np.random.default_rng(2), SeedsAndProblems(0.95), [], []
    higher = np.array([0, 0, 0, 0, 1, 1])
    pairs = [(i, j) for i in range(6) for j in range(i)]
    differ = np.array([higher[i] != higher[j] for i, j in pairs])
    for _ in range(60):
        common = draw.normal(0, 0.2, 40)
        scores = [0.08 * up + common + draw.normal(0, 0.02, (5, 1)) + draw.normal(0, 0.05, (5, 40)) for up in higher]
        told = false_discovery(pd.Series([intervals.of_difference(scores[i], scores[j]).p for i, j in pairs])) <= 0.05
        shares.append((told & ~differ).sum() / max(1, told.sum()))
        found.append(told[differ].mean())
    assert np.mean(shares) <= 0.05 and np.mean(found) > 0.8

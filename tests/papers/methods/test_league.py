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


def knots(**policies) -> list[dict]:
    """The baseline's policies at the rates 1, 4 and 9."""
    return [{"learning_rate": float(name[1:]), "policies": of} for name, of in policies.items()]


def test_the_distance_from_the_baselines_curve_by_hand():
    scores = on_x({"a0": [1, 1], "a1": [2, 2], "a2": [3, 3], "b1": [4, 0], "c1": [0, 0]})
    rates = knots(r1=["a0"], r4=["a1"], r9=["a2"])
    cells = [cell("a", ["a1"], rates=rates), cell("b", ["b1"]), cell("c", ["c1"])]
    (methods,) = methods_at(typed(ScoresLayout, LAYOUT, cells=cells), scores)
    baseline, other, beyond = methods.cells
    found = methods.at_equal(2, other)
    assert found is not None and found.mean() == pytest.approx(1 / 2 - 5 / 6)
    np.testing.assert_array_equal(methods.at_equal(2, baseline), [[0.0, 0.0]])
    assert methods.at_equal(2, beyond) is None and methods.policies == ["a1", "b1", "c1"]


def test_the_tree_joins_what_differs_least():
    """Two methods alike and one far from the curve: alike ones are joined left of the line, the third right of it."""
    counts = {"a": [2, 2, 2, 2] * 5, "b": [2, 2, 2, 3] + [2] * 16, "c": [4, 0, 4, 0] * 5}
    counts |= {"slow": [1] * 20, "fast": [4] * 20, "lost": [0] * 20}
    scores = on_x({f"{a}{s}": given for a, given in counts.items() for s in (1, 2, 3)})
    of = {arm: [f"{arm}{s}" for s in (1, 2, 3)] for arm in counts}
    rates = knots(r1=of["slow"], r4=of["a"], r9=of["fast"])
    cells = [cell("a", of["a"], rates=rates), *(cell(arm, of[arm]) for arm in ("b", "c", "lost"))]
    layout = typed(ScoresLayout, LAYOUT, cells=cells, k=[1, 2])
    frame = league_tree.statistics(layout, scores)
    assert list(zip(frame["label"], frame["other_label"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    q = frame.set_index(["label", "other_label"])["q"]
    assert q["a", "b"] > 0.05 > max(q["a", "c"], q["b", "c"])
    figure = league_tree.draw(layout, [pd.DataFrame(frame)])
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.get_yticklabels()} == {"a", "b", "c"}
    words = figure.get_supxlabel()
    assert "2 of 3 pairs differ at pass@2" in words and "With a pass@1 that a has at no learning rate: lost." in words


def test_a_tree_of_fewer_than_two_methods_says_so(tmp_path):
    """The curve lacks the other's pass@1: no pair, columns nevertheless, as a file and as a picture."""
    cells = [cell("a", ["a1"], rates=knots(r1=["c"], r4=["a1"], r9=["d"])), cell("b", ["b1"])]
    layout = typed(ScoresLayout, LAYOUT, cells=cells, compare_label="GRPO")
    frame = league_tree.statistics(layout, on_x({"a1": [2, 2], "b1": [0, 0], "c": [1, 1], "d": [3, 3]}))
    frame.to_csv(tmp_path / "tree.csv", index=False)
    read = pd.read_csv(tmp_path / "tree.csv")
    assert read.empty and {"arm", "other", "p", "q", "detectable", "seeds"} <= set(read.columns)
    (axes,) = league_tree.draw(layout, [read]).axes
    assert [text.get_text() for text in axes.texts] == ["No two methods are on the curve of GRPO."]


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

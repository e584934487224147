"""Ranks, probability of improvement and methods at equal pass@1, by hand, by scipy, by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scores_by_hand import LAYOUT, on_x

from rlvr.figures import league_tree
from rlvr.statistics.league import at_equal, probability_of_improvement, ranks


def generator():
    return np.random.default_rng(0)


def test_ranks_of_methods_that_are_far_apart_are_certain():
    scores = [np.full((4, 20), value) + 0.001 * generator().normal(size=(4, 20)) for value in (0.2, 0.9, 0.5)]
    found = ranks(scores, confidence=0.95, generator=generator())
    assert [(one.estimate, one.low, one.high) for one in found] == [(3, 3, 3), (1, 1, 1), (2, 2, 2)]


def test_equal_methods_share_a_rank():
    same = generator().random((3, 10))
    found = ranks([same, same, same + 1], confidence=0.95, generator=generator())
    assert [(one.estimate, one.low, one.high) for one in found] == [(2.5, 2.5, 2.5), (2.5, 2.5, 2.5), (1, 1, 1)]


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


def test_probability_of_improvement_at_its_ends():
    low, high = np.arange(4.0), np.arange(4.0) + 10
    for left, right, expected in ((high, low, 1.0), (low, high, 0.0), (low, low, 0.5)):
        found = probability_of_improvement(left, right, confidence=0.95, generator=generator())
        assert found.estimate == expected
        assert expected in (0.5, found.low, found.high)


def test_without_rates_a_method_stands_where_it_is_and_out_of_reach_it_has_none():
    frames = {
        policy: frame for (policy, _), frame in on_x({"a1": [2, 2], "b1": [1, 1], "b2": [4, 4], "c": [0, 0]}).items()
    }
    baseline, plain = {"policies": ["a1"]}, {"policies": ["b1"]}
    np.testing.assert_allclose(at_equal(plain, baseline, frames, 1), [[0.25, 0.25]])
    rates = [{"learning_rate": 0.0, "policies": ["c"]}, {"learning_rate": 1.0, "policies": ["b2"]}]
    found = at_equal({"policies": ["b2"], "rates": rates}, baseline, frames, 1)
    assert found is not None and found.mean() == pytest.approx(0.5), "between 0 and 1 the curve has the baseline's"
    short = [{"learning_rate": 0.0, "policies": ["c"]}, {"learning_rate": 1.0, "policies": ["b1"]}]
    assert at_equal({"policies": ["b1"], "rates": short}, baseline, frames, 2) is None


def test_the_tree_joins_what_differs_least():
    """Two methods alike and one far away: alike ones are joined left of the line, the third right of it."""
    counts = {"a": [2, 2, 2, 2] * 5, "b": [2, 2, 2, 3] + [2] * 16, "c": [4, 4, 4, 3] * 5}
    cells = [
        {
            "model": "M",
            "stand_in": "m",
            "arm": a,
            "label": a,
            "learning_rate": 1.0,
            "policies": [f"{a}{s}" for s in (1, 2, 3)],
        }
        for a in counts
    ]
    scores = on_x({f"{a}{s}": given for a, given in counts.items() for s in (1, 2, 3)})
    layout = {**LAYOUT, "cells": cells, "k": [1, 2]}
    frame = league_tree.statistics(layout, scores)
    assert list(zip(frame["label"], frame["other_label"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    p = frame.set_index(["label", "other_label"])["p_holm"]
    assert p["a", "b"] > 0.05 > max(p["a", "c"], p["b", "c"])
    figure = league_tree.draw(layout, [pd.DataFrame(frame)])
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.get_yticklabels()} == {"a", "b", "c"}

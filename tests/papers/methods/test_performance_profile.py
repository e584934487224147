"""Performance profiles by hand."""

import pytest
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, on_x

from rlvr.config.layouts import ScoresLayout
from rlvr.papers.methods.figures import performance_profile


def test_a_performance_profile_is_shares_of_runs_and_problems_by_hand():
    """Method b solves the hard problems and loses the easy one: equal means, another profile."""
    counts = {"a1": [4, 4, 0, 0], "a2": [4, 4, 0, 0], "b1": [4, 2, 1, 1], "b2": [4, 2, 2, 0]}
    cells = [{"arm": a, "learning_rate": 1.0, "policies": [f"{a}1", f"{a}2"]} for a in "ab"]
    layout = typed(ScoresLayout, LAYOUT, cells=cells)
    frame = performance_profile.statistics(layout, on_x(counts))
    of = frame.set_index(["arm", "tau"])
    assert of.loc[("a", 0.0), "value"] == 50 and of.loc[("b", 0.0), "value"] == pytest.approx(87.5)
    assert of.loc[("b", 0.0), "gain"] == pytest.approx(37.5)
    assert of.loc[("b", 0.25), "value"] == pytest.approx(62.5), "strictly more than a quarter"
    assert of.loc[("b", 0.5), "gain"] == pytest.approx(-25)
    assert frame[frame["arm"] == "a"]["gain"].isna().all()
    figure = performance_profile.draw(layout, [frame])
    assert [axes.get_title() for axes in figure.axes if axes.axison] == ["a", "b"]

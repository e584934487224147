"""Curves of pass@k, with the differences of methods beside them."""

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from rlvr.config.layouts import Looks
from rlvr.figures import pass_at_k_curves

ARMS = {"base": -10.0, "grpo": None, "one": 2.0, "two": -1.0}


def statistics(published: float | None = None) -> pd.DataFrame:
    rows = []
    for arm, difference in ARMS.items():
        of = {"difference": difference, "difference_low": difference, "difference_high": difference}
        where = {"arm": arm, "label": arm.upper(), "model": "M", "stand_in": "m", "benchmark": "B", "score": "pass"}
        value = {"value": 50.0 + (difference or 0), "value_low": 40.0, "value_high": 60.0, "published": published}
        rows += [{**where, **of, **value, "k": k} for k in (1, 8)]
    return pd.DataFrame(rows)


def drawn(frame: pd.DataFrame):
    figure = pass_at_k_curves.draw(Looks(), [frame])
    panels = [axes for axes in figure.axes if axes.get_visible()]
    plt.close(figure)
    return panels


def lines(axes) -> dict[str, list[float]]:
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines if not line.get_label().startswith("_")}


@pytest.mark.parametrize(("published", "titles"), [(None, 2), (63.0, 3)])
def test_methods_minus_the_one_they_are_compared_with_are_beside_the_curves(published, titles):
    ours, differences, *theirs = drawn(statistics(published))
    assert 2 + len(theirs) == titles
    assert set(lines(ours)) == {"BASE", "GRPO", "ONE", "TWO"}
    assert lines(differences) == {"ONE": [2.0, 2.0], "TWO": [-1.0, -1.0]}, "the base policy would hide the others"
    assert differences.get_title() == "points minus GRPO"
    assert all(lines(axes)["GRPO"] == [63.0, 63.0] for axes in theirs)


def test_without_a_comparison_there_are_curves_only():
    (ours,) = drawn(statistics().assign(difference=None))
    assert len(lines(ours)) == len(ARMS)

"""Equal pass@1: the curve of a method over learning rates, by hand, by simulation, and in tables."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import run_module
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, on_x, scores

from rlvr.config.layouts import ScoresLayout, numbers_of
from rlvr.figures import frontier
from rlvr.statistics.frontier import Point, at_pass_1
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.table_rows import pass_at_k_rows as summarise
from rlvr.tables import _scored
from rlvr.tables.pass_at_k import render


def point(rate: float, pass_1: float, score: float, shape=(2, 3)) -> Point:
    return Point(rate, np.full(shape, pass_1), np.full(shape, score))


CURVE = [point(0, 0.2, 0.9), point(1, 0.4, 0.8), point(2, 0.6, 0.4)]


@pytest.mark.parametrize(
    ("pass_1", "score", "rate"), [(0.2, 0.9, 0), (0.3, 0.85, 0.5), (0.4, 0.8, 1), (0.45, 0.7, 1.25), (0.6, 0.4, 2)]
)
def test_between_two_policies_by_hand(pass_1, score, rate):
    found = at_pass_1(CURVE, np.full((2, 3), pass_1))
    assert (found.score_SN.mean(), found.rate) == (pytest.approx(score), pytest.approx(rate))


def test_beyond_its_ends_a_curve_has_no_point():
    assert at_pass_1(CURVE, np.full((2, 3), 0.61)) is None and at_pass_1(CURVE, np.full((2, 3), 0.19)) is None
    assert at_pass_1(CURVE[:1], np.full((2, 3), 0.2)) is None, "one policy is no curve"


def test_a_curve_that_turns_back_is_taken_where_it_first_passes():
    turning = [point(0, 0.2, 0.9), point(1, 0.5, 0.7), point(2, 0.3, 0.1)]
    found = at_pass_1(turning, np.full((2, 3), 0.4))
    assert found.rate == pytest.approx(2 / 3) and found.score_SN.mean() == pytest.approx(0.9 - 0.2 * 2 / 3)


def test_pass_1_itself_is_the_baselines_and_so_is_the_baselines_own_score():
    generator = np.random.default_rng(1)
    points = [
        Point(rate, level + generator.random((4, 20)) / 10, generator.random((4, 20)))
        for rate, level in ((0, 0.2), (1, 0.4), (2, 0.6))
    ]
    baseline = points[1].pass_1_SN
    as_score = [Point(one.rate, one.pass_1_SN, one.pass_1_SN) for one in points]
    np.testing.assert_allclose(at_pass_1(as_score, baseline).score_SN, baseline, atol=1e-12)
    np.testing.assert_allclose(at_pass_1(points, baseline).score_SN, points[1].score_SN, atol=1e-12)


def test_the_interval_counts_the_noise_of_all_pass_1():
    """The spread of the interpolated score over repetitions is what a linearised matrix says, and the truth is held."""
    generator, found, errors = np.random.default_rng(2), [], []
    held = 0
    for _ in range(600):
        difficulty = generator.normal(0, 0.15, (1, 50))

        def noisy(level, difficulty=difficulty):
            return level + difficulty + generator.normal(0, 0.01, (8, 1)) + generator.normal(0, 0.05, (8, 50))

        points = [Point(rate, noisy(x), noisy(y)) for rate, x, y in ((0, 0.2, 0.9), (1, 0.5, 0.75), (2, 0.6, 0.4))]
        baseline, other = noisy(0.4), noisy(0.8)
        made = SeedsAndProblems(0.95).of_difference(at_pass_1(points, baseline).score_SN, other)
        found.append(made.estimate)
        errors.append((made.high - made.low) / 2 / 2.0)
        held += made.low <= 0.0 <= made.high
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.2)
    assert held >= 0.93 * 600


def rates(**policies) -> list[dict]:
    return [{"learning_rate": float(name[1:]), "policies": chosen} for name, chosen in policies.items()]


@pytest.mark.broad
def test_a_table_at_equal_pass_1(tmp_path):
    """By the stage's own command. Pass@1 of b is 1/4 before training, 3/4 after; that of a, the baseline, is 1/2."""
    counts = {"a1": [2, 2], "a2": [2, 2], "z": [1, 1], "b1": [2, 4], "b2": [2, 4], "c1": [1, 1], "c2": [1, 1]}
    first, second = map(dict, LAYOUT.cells)
    cells = [
        {**first, "rates": rates(r0=["z"], r1=["a1", "a2"])},
        {**second, "rates": rates(r0=["z"], r1=["b1", "b2"])},
        {**second, "arm": "c", "label": "c", "policies": ["c1", "c2"], "rates": rates(r0=["z"], r1=["c1", "c2"])},
    ]
    layout = typed(ScoresLayout, LAYOUT, cells=cells, k=[1, 2], sampling="t")
    files = []
    for policy, correct in counts.items():
        scores(policy, correct).assign(evaluation="x").to_csv(tmp_path / f"{policy}.csv", index=False)
        files.append(f"{policy}.csv")
    out = tmp_path / "table.csv"
    spec = {"folder": "tables", "layout": numbers_of(layout), "files": {"scores": files}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    run_module("rlvr.items.statistics", f"--spec={tmp_path / 'spec.json'}", f"--results={tmp_path}", f"--out={out}")
    table = pd.read_csv(out).set_index(["arm", "k"])
    # pass@2 of b: 1/2 before training (1 of 4 on each), (5/6 + 1) / 2 after; half way at pass@1 = 1/2.
    halfway = (1 / 2 + (5 / 6 + 1) / 2) / 2
    assert table.loc[("b", 2), "value"] == pytest.approx(100 * halfway, rel=1e-5)
    assert table.loc[("b", 2), "difference"] == pytest.approx(100 * (halfway - 5 / 6), rel=1e-4)
    assert table.loc[("b", 2), "learning_rate"] == pytest.approx(0.5)
    assert table.loc[("b", 1), "value"] == table.loc[("a", 1), "value"] == pytest.approx(50)
    assert np.isnan(table.loc[("b", 1), "difference"]), "at equal pass@1 there is nothing to compare at k = 1"
    assert np.isnan(table.loc[("c", 2), "value"]) and np.isnan(table.loc[("c", 2), "difference"]), "never at 1/2"
    shown = render(layout, pd.read_csv(out), None)
    (note,) = (note for note in shown.notes if note.startswith("At equal pass@1"))
    assert "the pass@1 of a at the paper's setting" in note
    assert "Not compared, since no learning rate has the pass@1 of a: c (M, math-500)." in shown.notes
    lines = shown.frame[shown.frame[""] == "learning rate"].to_dict("records")
    assert [line["@2"] for line in lines] == ["1", "0.5"]


def test_a_base_policy_stands_as_it_is_in_such_a_table():
    first = dict(LAYOUT.cells[0])
    base = {**first, "arm": "base", "label": "Base", "policies": ["z"], "learning_rate": None}
    cells = [base, {**first, "rates": rates(r0=["z"], r1=["a1", "a2"])}]
    frames = {(name, "x"): scores(name, correct) for name, correct in {"z": [1, 0], "a1": [2, 2], "a2": [2, 3]}.items()}
    table = summarise(typed(ScoresLayout, LAYOUT, cells=cells), frames, None).set_index(["arm", "k"])
    assert table.loc[("base", 1), "value"] == pytest.approx(12.5) and table["difference"].isna().all()


def test_false_working_is_said_to_be_of_policies_that_exist():
    row = {"benchmark": "b", "model": "M", "label": "A", "false_working": 0.125}
    for cell, words in (({}, ""), ({"rates": rates(r0=["z"])}, ", of the policies at the paper's setting")):
        layout = typed(ScoresLayout, LAYOUT, cells=[{"arm": "a", **cell}])
        (note,) = _scored._false_working(layout, pd.DataFrame([row]))
        assert note == f"Correct answers with a false step in their working, in percent{words}: M on b: A 12.5."


def test_a_method_with_fewer_seeds_is_compared_over_its_own():
    """Pass@1 of a is 1/2 with its first seed, 1 with both; b has one seed, and 0 before training, 1 after."""
    first, second = map(dict, LAYOUT.cells)
    cells = [
        {**first, "rates": rates(r0=["z1", "z2"], r1=["a1", "a2"])},
        {**second, "policies": ["b1"], "rates": rates(r0=["z1"], r1=["b1"])},
    ]
    frames = on_x({"z1": [0, 0], "z2": [0, 0], "a1": [2, 2], "a2": [4, 4], "b1": [4, 4]})
    layout = typed(ScoresLayout, LAYOUT, cells=cells, sampling="t")
    table = summarise(layout, frames, None)
    found = table.set_index(["arm", "k"])
    assert found.loc[("b", 1), "value"] == pytest.approx(50), "the pass@1 of the baseline's first seed"
    assert found.loc[("b", 2), "difference"] == pytest.approx(100 * (1 / 2 - 5 / 6)), "and its pass@2"
    assert found.loc[("a", 1), "value"] == pytest.approx(75) and list(table["seeds"]) == [2, 2, 1, 1]
    shown = render(layout, table, None)
    assert "Fewer seeds, and compared over these alone: b 1." in shown.notes


def test_of_many_methods_each_has_a_panel_beside_the_baseline():
    """Thirteen methods, two of one label: a panel for each but the baseline; without one, all in one panel."""
    rows = [
        {"model": "M", "stand_in": "m", "benchmark": "x", "arm": f"{arm}-lr-{rate}", "label": label, "seeds": 3}
        | {"learning_rate": rate, "k": k, "value": v, "value_low": v - 1, "value_high": v + 1}
        for arm, label in [("grpo", "GRPO"), ("one", "same"), ("two", "same"), *((f"m{i}", f"m{i}") for i in range(10))]
        for rate in (1.0, 2.0)
        for k, v in ((1, 40 + rate), (64, 90 - rate))
    ]
    frame = pd.DataFrame(rows)
    layout = typed(frontier.FrontierLayout, baseline=None, methods={arm: arm.split("-")[0] for arm in frame["arm"]})
    figure = frontier.draw(layout.model_copy(update={"baseline": "grpo"}), [frame])
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["same", "same", *(f"m{i}" for i in range(10))]
    assert len(figure.axes[0].collections[0].get_segments()) == 13, "all curves in grey"
    assert "dashed: GRPO" in figure.get_supxlabel()
    (axes,) = frontier.draw(layout, [frame]).axes
    assert len({line.get_label() for line in axes.lines if not str(line.get_label()).startswith("_")}) == 12
    assert len([line for line in axes.lines if len(np.atleast_1d(line.get_xdata())) == 2]) == 13

"""Equal pass@1: the baseline's curve over learning rates, by hand, by laws, by simulation, and in tables."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import run_module
from scipy.optimize import brentq
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, scores

from rlvr.config.layouts import Rate, ScoresLayout, numbers_of
from rlvr.figures import frontier
from rlvr.statistics.frontier import NEAR, Knot, OnCurve, OutOfReach, at_pass_1, on_curve
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.tables.pass_at_k import render

GRID = (0.35, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)  # times the learning rate, as papers have
BETWEEN = (0.4, 0.45, 0.6, 0.75, 0.8, 0.9, 0.95, 1.05)
BIAS = 0.07  # percent points, of what is the baseline itself at another rate


def sigmoids(sharper: float, better: float, k: int = 32):
    """The curve of a policy that solves a problem of ability a with sigmoid(a (1 + sharper r) + better r)."""
    abilities_N = np.random.default_rng(0).normal(-0.6, 1.9, 4000)

    def solves(rate):
        return 1 / (1 + np.exp(-abilities_N * (1 + sharper * rate) - better * rate))

    return [lambda rate: float(solves(rate).mean()), lambda rate: float((1 - (1 - solves(rate)) ** k).mean())]


CURVES = {  # the first two are GRPO's (benchmarks/coverage.py)
    "50 steps": [lambda r: 0.35 + 0.1242 * (1 - np.exp(-0.99 * r)), lambda r: 0.968 - 0.021 * r**1.39],
    "150 steps": [lambda r: 0.398 + 0.136 * (1 - np.exp(-2.6 * r)) - 0.0019 * r**3, lambda r: 0.981 - 0.061 * r],
    "little change": sigmoids(0.5, 0.45),
    "much change": sigmoids(1.5, 0.9),
}


def knot(rate: float, pass_1: float, score: float, shape=(2, 3)) -> Knot:
    return Knot(rate, np.full(shape, pass_1), np.full(shape, score))


def exact(curve, rates=GRID) -> list[Knot]:
    return [knot(rate, *(of(rate) for of in curve)) for rate in rates]


def compared(knots, pass_1: float, shape=(2, 3)) -> OnCurve:
    found = at_pass_1(knots, np.full(shape, pass_1))
    assert isinstance(found, OnCurve), found
    return found


# ---- laws ----


@pytest.mark.parametrize("name", CURVES)
def test_the_baseline_itself_at_a_rate_between_the_knots_does_not_differ(name):
    """On exact concave curves: without noise what remains is bias. The controls' rates, 0.8 and 0.9, are no knots."""
    pass_1, score = CURVES[name]
    for rate in BETWEEN:
        found = compared(exact(CURVES[name]), pass_1(rate))
        assert 100 * (score(rate) - found.score_SN.mean()) == pytest.approx(0, abs=BIAS), rate
        assert found.rate == pytest.approx(rate, rel=0.05)


def test_the_curve_is_the_quadratics_of_numpy_and_the_rate_that_of_scipy():
    generator = np.random.default_rng(3)
    for _ in range(20):
        pass_1, score = CURVES["50 steps"]
        noisy = [knot(r, pass_1(r) + generator.normal(0, 0.002), score(r) + generator.normal(0, 0.01)) for r in GRID]
        roots = np.sqrt(GRID)
        x, y = (np.polyfit(roots, [getattr(one, of)[0, 0] for one in noisy], 2) for of in ("pass_1_SN", "score_SN"))
        x0 = float(generator.uniform(*np.polyval(x, roots[[0, -1]])))
        t = brentq(np.poly1d(x) - x0, roots[0], roots[-1])
        found = compared(noisy, x0)
        assert (found.rate, found.score_SN.mean()) == (pytest.approx(t**2), pytest.approx(np.polyval(y, t)))


def test_the_entries_are_those_of_the_gradient_by_finite_differences():
    generator, shape, step = np.random.default_rng(4), (3, 5), 1e-6
    pass_1, score = CURVES["50 steps"]
    knots = [Knot(r, *(of(r) + generator.normal(0, 0.01, shape) for of in (pass_1, score))) for r in GRID]
    own = 0.42 + generator.normal(0, 0.01, shape)
    found = compared_matrix(knots, own)
    expected = np.full(shape, found.mean())
    for i, one in enumerate(knots):
        for field in ("pass_1_SN", "score_SN"):
            moved = [
                compared_matrix([*knots[:i], replaced(one, field, sign * step), *knots[i + 1 :]], own).mean()
                for sign in (1, -1)
            ]
            of = getattr(one, field)
            expected += (moved[0] - moved[1]) / (2 * step) * (of - of.mean())
    moved = [compared_matrix(knots, own + sign * step).mean() for sign in (1, -1)]
    expected += (moved[0] - moved[1]) / (2 * step) * (own - own.mean())
    np.testing.assert_allclose(found, expected, atol=1e-7)


def compared_matrix(knots, own):
    found = at_pass_1(knots, own)
    assert isinstance(found, OnCurve)
    return found.score_SN


def replaced(one: Knot, field: str, by: float) -> Knot:
    return Knot(**{**vars(one), field: getattr(one, field) + by})


def test_other_units_of_rate_pass_1_and_score_change_nothing():
    knots = exact(CURVES["150 steps"])
    found = compared(knots, 0.51)
    other = [Knot(1e-6 * k.rate, 2 * k.pass_1_SN - 0.1, 3 - k.score_SN) for k in knots]
    same = compared(other, 2 * 0.51 - 0.1)
    assert same.rate == pytest.approx(1e-6 * found.rate)
    np.testing.assert_allclose(3 - same.score_SN, found.score_SN)


def test_at_three_knots_the_curve_goes_through_them():
    knots = [knot(1.0, 0.4, 0.9), knot(4.0, 0.5, 0.8), knot(9.0, 0.55, 0.6)]
    for one in knots:
        found = compared(knots, one.pass_1_SN[0, 0])
        assert (found.rate, found.score_SN[0, 0]) == (pytest.approx(one.rate), pytest.approx(one.score_SN[0, 0]))


def test_the_score_may_be_pass_1_itself():
    generator = np.random.default_rng(1)
    knots = [Knot(k.rate, *[k.pass_1_SN + generator.normal(0, 0.01, (2, 3))] * 2) for k in exact(CURVES["much change"])]
    own = np.full((2, 3), 0.44) + generator.normal(0, 0.001, (2, 3))
    np.testing.assert_allclose(compared_matrix(knots, own), own, atol=1e-12)


def test_beyond_the_knots_there_is_no_comparison():
    knots = exact(CURVES["50 steps"])
    low, high = knots[0].pass_1_SN[0, 0], knots[-1].pass_1_SN[0, 0]
    for beyond in (low - 0.01, high + 0.01):
        found = at_pass_1(knots, np.full((2, 3), beyond))
        assert isinstance(found, OutOfReach)
        reach = f"{100 * low:.1f} to {100 * high:.1f} %"
        assert found.reason == f"its pass@1 is {100 * beyond:.1f} %, and the baseline's {reach} over its learning rates"
    short = at_pass_1(knots[:2], np.full((2, 3), low))
    assert short == OutOfReach("the baseline has 2 other learning rates, and 3 are needed")


def test_a_curve_that_turns_back_is_taken_where_it_first_passes():
    """Pass@1 is highest at the rate 4: at 1 and 9 it is the same. At the top no rate can be read from it."""
    turning = [knot(t**2, 0.5 - (t - 2) ** 2 / 10, 1 - t / 4) for t in (1.0, 1.5, 2.0, 2.5, 3.0)]
    found = compared(turning, 0.475)
    assert (found.rate, found.score_SN[0, 0]) == (pytest.approx(1.5**2), pytest.approx(1 - 1.5 / 4))
    top = at_pass_1(turning, np.full((2, 3), 0.4999))
    assert top == OutOfReach("at its pass@1, 50.0 %, the baseline's hardly changes with the learning rate")


def test_of_a_long_curve_the_knots_around_the_point_count():
    """Of 21 steps, those far from the point are moved without an effect."""
    knots = exact(CURVES["150 steps"], np.linspace(0, 2, 21))
    found = compared(knots, 0.5)
    middle = next(i for i, one in enumerate(knots) if one.rate >= found.rate)
    moved = [one if abs(i - middle) <= NEAR // 2 else replaced(one, "score_SN", 0.5) for i, one in enumerate(knots)]
    np.testing.assert_allclose(compared(moved, 0.5).score_SN, found.score_SN)


def test_no_run_is_compared_with_a_curve_that_it_is_in():
    """The method is the baseline at the fourth rate: without that knot the curve does not depend on its score."""
    knots = {f"p{k.rate}": k for k in exact(CURVES["50 steps"])}
    rates = [Rate(learning_rate=k.rate, policies=(name,)) for name, k in knots.items()]

    def found(by: float) -> float:
        scores = {name: k.score_SN + (by if name == "p1.0" else 0) for name, k in knots.items()}
        got = on_curve(rates, ["p1.0"], lambda names: knots[names[0]].pass_1_SN, lambda names: scores[names[0]])
        assert isinstance(got, OnCurve)
        return float(got.score_SN.mean())

    assert found(0.3) == found(0.0) == pytest.approx(knots["p1.0"].score_SN[0, 0], abs=BIAS / 100)


def test_the_interval_counts_the_noise_of_all_pass_1():
    """The spread of the difference over repetitions is what the linearised matrix says, and the truth is held."""
    generator, found, errors = np.random.default_rng(2), [], []
    pass_1, score = CURVES["50 steps"]
    held = 0
    for _ in range(600):
        difficulty = generator.normal(0, 0.15, (1, 50))

        def noisy(level, difficulty=difficulty):
            return level + difficulty + generator.normal(0, 0.004, (8, 1)) + generator.normal(0, 0.02, (8, 50))

        knots = [Knot(rate, noisy(pass_1(rate)), noisy(score(rate))) for rate in GRID]
        made = SeedsAndProblems(0.95).of_difference(noisy(score(0.9)), compared_matrix(knots, noisy(pass_1(0.9))))
        found.append(made.estimate)
        errors.append((made.high - made.low) / 2 / 2.0)
        held += made.low <= 0.0 <= made.high
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.2)
    assert held >= 0.93 * 600


# ---- in tables ----


def rates(**policies) -> list[dict]:
    return [{"learning_rate": float(name[1:]), "policies": chosen} for name, chosen in policies.items()]


@pytest.mark.broad
def test_a_table_at_equal_pass_1(tmp_path):
    """By the stage's own command. Pass@1 of a, the baseline, is 1/4, 1/2, 3/4 over its rates; that of b is 1/2."""
    counts = {"a1": [1, 1], "a2": [1, 1], "b1": [1, 3], "b2": [1, 3], "c1": [4, 4], "c2": [4, 4]}
    counts |= {"z1": [2, 2], "z2": [2, 2], "y1": [3, 3], "y2": [3, 3]}
    first, second = map(dict, LAYOUT.cells)
    knots = rates(r1=["a1", "a2"], r4=["z1", "z2"], r9=["y1", "y2"])
    cells = [
        {**first, "rates": knots},
        second,
        {**second, "arm": "c", "label": "c", "policies": ["c1", "c2"]},
        {**second, "arm": "base", "label": "Base", "policies": ["a1"]},
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
    # pass@2 of b: (1/2 + 1) / 2 (1 and 3 of 4); of a where 2 of 4 are correct: 5/6.
    assert table.loc[("b", 2), "value"] == pytest.approx(75)
    assert table.loc[("b", 2), "difference"] == pytest.approx(100 * (3 / 4 - 5 / 6), rel=1e-4)
    assert table.loc[("b", 2), "baseline_rate"] == pytest.approx(4), "where a has the pass@1 of b"
    assert np.isnan(table.loc[("b", 1), "difference"]), "at equal pass@1 there is nothing to compare at k = 1"
    assert table.loc[("c", 2), "value"] == 100 and np.isnan(table.loc[("c", 2), "difference"]), "beyond the curve"
    assert table.loc[["base", "a"], "difference"].isna().all()
    shown = render(layout, pd.read_csv(out), None)
    assert any(note.startswith("At equal pass@1: a at several learning rates gives a curve") for note in shown.notes)
    reason = "its pass@1 is 100.0 %, and the baseline's 25.0 to 75.0 % over its learning rates"
    assert f"Not comparable with a at equal pass@1: c (M, math-500): {reason}." in shown.notes
    (line,) = shown.frame[shown.frame[""] == "learning rate of a there"].to_dict("records")
    assert line["@2"] == "4"


def test_of_many_methods_each_has_a_panel_beside_the_baseline():
    """Thirteen methods, two of one label: a panel for each but the baseline; of twelve, all in one panel."""
    arms = [("grpo", "GRPO", 3), ("one", "same", 1), ("two", "same", 1), *((f"m{i}", f"m{i}", 1) for i in range(10))]
    rows = [
        {"model": "M", "stand_in": "m", "benchmark": "x", "arm": f"{arm}-lr-{rate}" if knots > 1 else arm}
        | {
            "learning_rate": rate,
            "k": k,
            "value": v,
            "value_low": v - 1,
            "value_high": v + 1,
            "label": label,
            "seeds": 3,
        }
        for arm, label, knots in arms
        for rate in (1.0, 2.0, 3.0)[:knots]
        for k, v in ((1, 40 + rate), (64, 90 - rate))
    ]
    frame = pd.DataFrame(rows)
    knots = [f"grpo-lr-{rate}" for rate in (1.0, 2.0, 3.0)]
    layout = typed(frontier.FrontierLayout, baseline="grpo", knots=knots)
    figure = frontier.draw(layout, [frame])
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["same", "same", *(f"m{i}" for i in range(10))]
    assert len(figure.axes[0].collections[0].get_offsets()) == 12, "all methods in grey"
    assert "dashed: GRPO" in figure.get_supxlabel()
    (axes,) = frontier.draw(layout, [frame[frame["arm"] != "m9"]]).axes
    labels = [line.get_label() for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len(labels) == 12 and len(set(labels)) == 11
    assert [line.get_label() for line in axes.lines if len(np.atleast_1d(line.get_xdata())) == 3] != [], "the curve"

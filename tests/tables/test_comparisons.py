"""Comparisons of methods with their baseline and placebos (rlvr.tables.comparisons)."""

import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from pydantic import ValidationError
from scipy import stats
from support.layouts_by_hand import having, typed

from rlvr.claims import mechanisms
from rlvr.config.layouts import ScoresLayout
from rlvr.planning.expansion import make_plan
from rlvr.statistics.table_rows import pass_at_k_rows
from rlvr.tables import comparisons

N, PROBLEMS, SEEDS = 16, 24, 6
RATES = [0.4, 0.7, 1.0, 1.3]
P = {"a": 0.40, "m": 0.46, "placebo": 0.41, "other": 0.45}  # solve rates of the arms


def policies(arm, rate=None):
    return tuple(f"{arm}{'' if rate is None else f'-{rate}'}-{seed}" for seed in range(SEEDS))


@pytest.fixture(scope="module")
def scores():
    """Counts of each policy: arms differ in their rate; those of the baseline's curve rise with the learning rate."""
    generator = np.random.default_rng(0)
    base_N = generator.normal(0, 0.15, PROBLEMS)
    solve = {**{(arm, None): p for arm, p in P.items()}, **{("a", rate): 0.25 + 0.2 * rate for rate in RATES}}
    found = {}
    for (arm, rate), p in solve.items():
        for policy in policies(arm, rate):
            chance_N = np.clip(p + base_N + generator.normal(0, 0.02), 0.02, 0.98)
            correct = generator.binomial(N, chance_N)
            names = [f"p{i}" for i in range(PROBLEMS)]
            found[policy, "x"] = pd.DataFrame({"policy": policy, "problem": names, "n": N, "correct": correct})
    return found


def cell(arm, **more):
    return {"arm": arm, "label": arm, "learning_rate": 1.0, "policies": policies(arm), **more}


CURVE = [{"learning_rate": rate, "policies": policies("a", rate)} for rate in RATES]
LAYOUT = typed(
    comparisons.Layout,
    kind="comparisons",
    title="T",
    scale="laptop",
    panels=[{"name": "MATH", "stand_in": "x", "evaluations": {"M": "x"}}],
    k=[1, 2, 8],
    compare_with="a",
    compare_label="a",
    cells=[cell("a", rates=CURVE), cell("m"), cell("other"), cell("placebo")],
    placebos={"m": ["placebo"]},
)
MET = {"arm": "m", "model": "M", "criterion": "omega", "bound": "at least 0.1", "met": "yes"}
MET |= {"measured": 0.25, "low": 0.2, "high": 0.3}
MISSED = {**MET, "criterion": "mass", "bound": "at least 0.01", "measured": 0.002, "low": np.nan, "met": "no"}
ELSEWHERE = {**MET, "model": "another", "criterion": "elsewhere", "met": "no"}
CRITERIA = pd.DataFrame([MET, MISSED, ELSEWHERE, {**MET, "arm": "other", "met": "not run"}])


@pytest.fixture(scope="module")
def found(scores):
    return comparisons.statistics(LAYOUT, scores, CRITERIA)


def row_of(frame, **keys):
    (row,) = frame[(frame[list(keys)] == pd.Series(keys)).all(axis=1)].to_dict("records")
    return row


def as_tables(layout, scores, compare_with):
    """The rows of a table of pass@k with these cells and this baseline."""
    plain = {key: value for key, value in dict(layout).items() if key != "placebos"}
    return pass_at_k_rows(typed(ScoresLayout, {**plain, "compare_with": compare_with}), scores, None)


@pytest.mark.parametrize("k", [1, 8])
def test_at_one_rate_differences_are_those_of_a_table_of_pass_at_k(found, scores, k):
    without_curve = having(LAYOUT, cells=[{**dict(one), "rates": ()} for one in LAYOUT.cells])
    for against in ("a", "placebo"):
        table = row_of(as_tables(without_curve, scores, against), arm="m", k=k)
        ours = row_of(found, arm="m", against=against, k=k, effort="paper's setting")
        for name in ("difference", "difference_low", "difference_high", "difference_p"):
            assert ours[name] == pytest.approx(table[name], rel=1e-12)


def test_at_equal_pass_1_the_distances_from_the_curve_are_compared(found, scores):
    table = as_tables(LAYOUT, scores, "a")
    own, placebo = (row_of(table, arm=arm, k=8, score="pass")["difference"] for arm in ("m", "placebo"))
    assert row_of(found, arm="m", against="a", effort="equal pass@1")["difference"] == pytest.approx(own, rel=1e-12)
    beside = row_of(found, arm="m", against="placebo", effort="equal pass@1")
    assert beside["k"] == 8 and beside["difference"] == pytest.approx(own - placebo, rel=1e-9)
    assert not ((found["k"] == 1) & (found["effort"] == "equal pass@1")).any()


def test_a_pass_1_beyond_the_curve_is_not_comparable(scores):
    near = having(LAYOUT, cells=[cell("a", rates=CURVE[:3]), cell("m"), cell("other"), cell("placebo")])
    far = {**scores, **{(p, "x"): scores[p, "x"].assign(correct=N) for p in policies("m")}}
    frame = comparisons.statistics(near, far, CRITERIA)
    row = row_of(frame, arm="m", against="a", effort="equal pass@1")
    assert pd.isna(row["difference"]) and row["not_comparable"].startswith("its pass@1 is 100.0 %")
    shown = comparisons.render(near, frame)
    assert "not comparable" in set(shown.frame["@8, equal pass@1"])
    assert any("m (M, MATH): its pass@1 is 100.0 %" in note for note in shown.notes)


def test_placebos_are_no_methods_and_each_method_has_its_own(found):
    assert [*dict.fromkeys(zip(found["arm"], found["against"], strict=True))] == [
        *[("m", "a"), ("m", "placebo"), ("other", "a")]
    ]


def test_a_method_acts_where_all_its_judged_criteria_are_met(found):
    assert row_of(found, arm="m", against="a", k=1)["acts"] == "no"
    assert row_of(found, arm="other", against="a", k=1)["acts"] == ""
    measured = row_of(found, arm="m", against="placebo", k=8, effort="equal pass@1")["criteria"]
    assert measured == "omega 0.25 [0.2, 0.3] (at least 0.1), mass 0.002 (needed at least 0.01)"
    assert f"m, measured: {measured}." in comparisons.render(LAYOUT, found).notes
    assert row_of(found, arm="other", against="a", k=1)["criteria"] == ""
    met = comparisons.judged(pd.DataFrame([MET, {**MET, "met": "not run"}]), "m", "M")
    assert len(met) == 1 and comparisons.acts(met) == "yes" and comparisons.acts(pd.DataFrame()) == ""


def test_what_is_detectable_is_found_with_a_power_of_80_percent():
    """Where seeds alone vary, by the noncentral t distribution of scipy, which the code does not use."""
    generator = np.random.default_rng(1)
    difference_S = generator.normal(0, 0.05, SEEDS)
    left_SN = np.repeat(difference_S[:, None], PROBLEMS, axis=1)
    difference = comparisons._detectable(left_SN, np.zeros_like(left_SN), 0.95) / 100
    error, edge = stats.sem(difference_S), stats.t.ppf(0.975, SEEDS - 1)
    assert stats.nct.sf(edge, SEEDS - 1, difference / error) == pytest.approx(0.8, abs=0.02)


def test_a_rendered_table_has_a_line_per_method_and_arm_that_it_is_held_against(found):
    rendered = comparisons.render(LAYOUT, found)
    frame = rendered.frame
    assert list(frame["Minus"]) == ["a", "placebo (placebo)", "a"] and list(frame["Method"]) == ["m", "", "other"]
    assert list(frame["Benchmark"]) == ["MATH → x", "", ""] and list(frame["Acts"]) == ["no", "", ""]
    assert list(frame["Seeds × problems"]) == ["6 × 24"] * 3
    row = row_of(found, arm="m", against="a", k=8, effort="paper's setting")
    cell = f"{row['difference']:+.1f} [{row['difference_low']:+.1f}, {row['difference_high']:+.1f}]"
    assert frame["@8"][0] == cell.replace("-", "−")


def test_a_sentence_has_a_word_for_each_comparison():
    rows = [("m", "a", -1.0, 0.5, "no"), ("m", "p", 0.7, 5.2, "no"), ("n", "a", -3.0, -1.0, "yes")]
    frame = pd.DataFrame(rows, columns=["label", "against_label", "difference_low", "difference_high", "acts"])
    (sentence,) = comparisons.sentences(frame.assign(benchmark="MATH", k=8, effort="paper's setting"), 0.05)
    words = "m (its mechanism does not act) is above p, undecided against a; n is below a."
    assert sentence == f"MATH, pass@8: {words}"


def test_statistics_are_rendered_alike_after_a_round_trip_through_csv(found):
    read = pd.read_csv(StringIO(found.to_csv(index=False)))
    one, two = comparisons.render(LAYOUT, found), comparisons.render(LAYOUT, read)
    assert one.frame.equals(two.frame) and one.notes == two.notes
    without = read.assign(acts=np.nan)
    assert not any(note == comparisons.ON_CRITERIA for note in comparisons.render(LAYOUT, without).notes)


def test_a_k_at_which_blind_guesses_score_more_than_the_settings_allow_is_named(scores):
    """By hand: 1 - 0.96^8 = 27.9 % is above 25 %, 1 - 0.97^8 = 21.6 % is not."""

    def rendered(chance):
        guessed = {key: frame.assign(chance=chance) for key, frame in scores.items()}
        frame = comparisons.statistics(LAYOUT, guessed, CRITERIA)
        assert row_of(frame, arm="m", against="a", k=1)["blind"] == pytest.approx(chance)
        return [note for note in comparisons.render(LAYOUT, frame).notes if "blind" in note]

    (note,) = rendered(0.04)
    assert note.startswith("MATH: blind guesses score 28 % at k = 8, more than 25 %.")
    assert not rendered(0.03)


@pytest.mark.parametrize("k", [[1], [8, 1]])
def test_other_k(scores, k):
    layout = having(LAYOUT, k=k)
    frame = comparisons.render(layout, comparisons.statistics(layout, scores, CRITERIA)).frame
    assert [name for name in frame if name.startswith("@")] == (
        ["@1"] if k == [1] else ["@1", "@8", "@8, equal pass@1"]
    )
    assert all(re.fullmatch(r"[\d.]+(, [\d.]+)?", text) for text in frame["Detectable"])


@pytest.mark.parametrize("paper", ["ace", "agrae", "fade", "lens", "pacs"])
def test_each_papers_core_begins_with_its_comparisons_and_adds_no_run_to_it(paper):
    planned = make_plan(ROOT, "laptop", [paper]).papers[paper]
    first, *others = planned.paper.core.tables
    assert first == "comparisons"
    item = planned.item(first)
    assert any(cell.rates for cell in item.cells)
    elsewhere = {policy for name in others for policy in planned.item(name).policies()}
    assert set(item.policies()) <= elsewhere
    methods = {one for one in planned.paper.placebos if any(cell.row.arm == one for cell in item.cells)}
    assert methods and mechanisms.layout(make_plan(ROOT, "laptop", [paper]), paper, [first])


def test_a_scale_without_controls_compares_with_the_baseline_alone():
    planned = make_plan(ROOT, "smoke", ["ace"]).papers["ace"]
    arms = {cell.row.arm for cell in planned.item("comparisons").cells}
    assert arms >= {"grpo", "ace_grpo"} and ("ace_grpo_mean" in arms) == bool(planned.paper.placebos)


@pytest.mark.parametrize("scale", ["short", "pretrained"])
def test_a_scale_without_equal_pass_1_has_no_run_for_it(scale):
    planned = make_plan(ROOT, scale, ["lens"]).papers["lens"]
    assert not any(cell.rates for cell in planned.item("comparisons").cells)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"models": ["a", "b"]}, "at most 1 item"),
        ({"compare_with": None}, "compare_with"),
        ({"models": []}, "at least 1"),
    ],
)
def test_a_table_has_one_model_and_a_baseline(keys, message):
    content = {"title": "T", "kind": "comparisons", "benchmark": "b", "models": ["a"], "k": [1], "compare_with": "grpo"}
    with pytest.raises(ValidationError, match=message):
        comparisons.Config.model_validate({**content, "rows": [{"arm": "grpo", "label": "GRPO"}], **keys})

"""The IQM and the mean over benchmarks: by hand, by scipy, by simulation; the table made of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT

from rlvr.config.layouts import ScoresLayout
from rlvr.files import RecordError
from rlvr.statistics.aggregate import RunsAndProblemsByBenchmark, iqm, mean
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.tables.across_benchmarks import render, sentences
from rlvr.tables.across_benchmarks import statistics as summarise


def intervals(seeds) -> RunsAndProblemsByBenchmark:
    return RunsAndProblemsByBenchmark(seeds, 0.95)


def test_iqm_by_hand():
    """Eight scores: two are left out at each end."""
    scores_SM = np.array([[0.0, 0.1], [0.2, 0.4], [0.6, 0.7], [0.9, 1.0]])
    assert iqm(scores_SM) == pytest.approx((0.2 + 0.4 + 0.6 + 0.7) / 4)
    assert iqm(scores_SM[:3]) == pytest.approx((0.1 + 0.2 + 0.4 + 0.6) / 4), "six: floor(6 / 4) = 1 at each end"
    assert iqm(scores_SM[:1]) == pytest.approx(0.05), "fewer than four: the mean"
    assert mean(scores_SM) == pytest.approx(scores_SM.mean())


shapes = st.tuples(st.integers(1, 6), st.integers(1, 5))
matrices = shapes.flatmap(lambda shape: arrays(float, shape, elements=st.floats(0, 1, width=32)))


@given(matrices)
def test_iqm_laws(scores_SM):
    value = float(iqm(scores_SM))
    assert value == pytest.approx(stats.trim_mean(scores_SM.ravel(), 0.25))
    assert scores_SM.min() - 1e-9 <= value <= scores_SM.max() + 1e-9
    assert float(iqm(scores_SM[::-1, ::-1])) == pytest.approx(value)
    assert float(iqm(3 * scores_SM + 1)) == pytest.approx(3 * value + 1)
    assert iqm(np.stack([scores_SM, scores_SM])) == pytest.approx([value, value]), "draws come first"


def test_one_benchmark_has_the_mean_of_a_table_and_the_trimmed_mean_over_runs():
    scores_SN = np.random.default_rng(1).random((8, 50))
    found, expected = intervals(8).of(mean, [scores_SN]), SeedsAndProblems(0.95).of(scores_SN)
    assert (found.estimate, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))
    found = intervals(8).of(iqm, [scores_SN])
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(stats.trim_mean(scores_SN.mean(1), 0.25))


def test_a_run_varies_with_all_its_scores():
    """Runs that are good everywhere: a mean over three benchmarks varies as one does, not by 1 / sqrt(3)."""
    ability = np.random.default_rng(3).normal(0.5, 0.1, (6, 1))
    found = intervals(6).of(mean, [np.repeat(ability, 10, axis=1)] * 3)
    expected = stats.ttest_1samp(ability[:, 0], 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_problems_vary_within_their_benchmark():
    """Equal problems in each benchmark leave nothing to vary, however far the benchmarks are apart; they weigh the same
    whatever their size."""
    found = intervals(1).of(mean, [np.full((1, 40), 0.9), np.full((1, 5), 0.1)])
    assert (found.low, found.estimate, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_differences_are_paired_and_a_base_policy_stands_beside_each_run():
    generator = np.random.default_rng(4)
    scores = [generator.random((3, 30)), generator.random((3, 20))]
    for aggregate in (mean, iqm):
        found = intervals(3).of_difference(aggregate, scores, [part - 0.1 for part in scores])
        assert (found.low, found.estimate, found.high) == pytest.approx((0.1, 0.1, 0.1), abs=1e-6)
        assert found.p < 1e-6 and intervals(3).of_difference(aggregate, scores, scores).p == 1
    base = [part[:1] for part in scores]
    single = intervals(3).of(iqm, base)
    assert single.estimate == pytest.approx(iqm(np.repeat([[part.mean() for part in base]], 3, axis=0)))


@pytest.mark.parametrize("aggregate", [mean, iqm])
def test_coverage_over_runs_and_problems(aggregate):
    """About 95 of 100 intervals hold the truth, which symmetric laws have at 0.5 for the mean and for the IQM."""
    generator, held = np.random.default_rng(6), 0
    for _ in range(400):
        ability = generator.normal(0, 0.05, (8, 1))
        scores = [
            0.5 + ability + generator.normal(0, 0.15, (1, size)) + generator.normal(0, 0.05, (8, size))
            for size in (60, 40)
        ]
        found = intervals(8).of(aggregate, scores)
        held += found.low <= 0.5 <= found.high
    assert 366 <= held <= 394


def frame(policy: str, evaluation: str, correct: list[int]) -> pd.DataFrame:
    problems = [f"{evaluation}{i}" for i in range(len(correct))]
    return pd.DataFrame({"policy": policy, "evaluation": evaluation, "problem": problems, "n": 4, "correct": correct})


def across(**changes) -> ScoresLayout:
    panels = [{"name": name, "evaluations": {"M": name}} for name in ("x", "y")]
    return typed(ScoresLayout, LAYOUT, **{"panels": panels, "k": [1], "kind": "across_benchmarks", **changes})


COUNTS = {"a1": ([0, 4], [2]), "a2": ([2, 4], [1]), "b1": ([1, 4], [4]), "b2": ([3, 4], [3])}


def by_pair(counts=COUNTS) -> dict[tuple[str, str], pd.DataFrame]:
    return {(name, e): frame(name, e, c) for name, both in counts.items() for e, c in zip("xy", both, strict=True)}


def test_a_table_across_benchmarks_by_hand():
    table = summarise(across(), by_pair()).set_index(["arm", "score"])
    a, b = np.array([[0.5, 0.5], [0.75, 0.25]]), np.array([[0.625, 1.0], [0.875, 0.75]])
    assert table.loc[("a", "mean"), "value"] == pytest.approx(100 * a.mean())
    assert table.loc[("a", "iqm"), "value"] == pytest.approx(100 * 0.5)
    assert table.loc[("b", "iqm"), "value"] == pytest.approx(100 * (0.75 + 0.875) / 2)
    assert table.loc[("b", "mean"), "difference"] == pytest.approx(100 * (b.mean() - a.mean()))
    assert table.loc[("b", "iqm"), "difference"] == pytest.approx(100 * (0.8125 - 0.5))
    assert table["difference_p_holm"].notna().tolist() == [False, False, True, True]
    assert set(table["problems"]) == {3} and set(table["samples"]) == {4}


def test_a_published_mean_is_that_of_the_papers_values_on_all_benchmarks(tmp_path):
    """a: (61.2 + 20.5) / 2; b has no value on y."""
    path = tmp_path / "averages.csv"
    path.write_text(
        "paper,table,model,method,benchmark,k,value,ci\nP,T1,M,a,x,1,61.2,\nP,T2,M,a,y,1,20.5,\nP,T1,M,b,x,1,70,\n"
    )
    cells = [{**dict(cell), "published": cell.arm, "published_model": "M"} for cell in across().cells]
    for stand_in, minus in (("M", 50 - 40.85), ("m", None)):
        layout = across(cells=[{**cell, "stand_in": stand_in} for cell in cells])
        rows = summarise(layout, by_pair(), path).set_index(["arm", "score"])
        assert rows.loc[("a", "mean"), "published"] == pytest.approx(40.85)
        assert rows["published"].notna().sum() == 1 and rows["published_ci"].isna().all()
        found = rows.loc[("a", "mean"), "minus_published"]
        assert pd.isna(found) if minus is None else found == pytest.approx(minus)
    notes = render(layout, rows.reset_index()).notes
    assert any(note.startswith("A published mean is that of the paper's values") for note in notes)
    assert not any("published mean" in note for note in render(across(), summarise(across(), by_pair())).notes)


@pytest.mark.parametrize(
    ("arm", "column", "of_x", "of_y", "value"),
    [("blind", "chance", 0.1, 0.5, 100 * (1 - 0.9**2 + 1 - 0.5**2) / 2), ("lookup", "lookup", 1, 3, 50)],
)
def test_blind_guesses_and_lookups_are_rows_where_each_benchmark_has_them(arm, column, of_x, of_y, value):
    scores = {pair: table.assign(**{column: of_x if pair[1] == "x" else of_y}) for pair, table in by_pair().items()}
    rows = summarise(across(k=[2]), scores).set_index(["arm", "score"])
    assert rows.loc[arm, "value"].tolist() == pytest.approx([value, value]), "the mean and the IQM"
    assert rows.loc[(arm, "mean"), ["value_low", "difference"]].isna().all()
    some = {pair: table if pair[1] == "x" else table.drop(columns=column) for pair, table in scores.items()}
    assert arm not in set(summarise(across(k=[2]), some)["arm"])


def test_false_steps_are_counted_over_all_benchmarks():
    scores = {pair: table.assign(false_working=(table["correct"] > 3).astype(int)) for pair, table in by_pair().items()}
    table = summarise(across(), scores)
    assert table.groupby("arm")["false_working"].first().to_dict() == pytest.approx({"a": 2 / 13, "b": 3 / 19})
    note = "Correct answers with a false step in their working, in percent: M on x, y: a 15.4, b 15.8."
    assert note in render(across(), table).notes


def test_the_table_and_the_page_say_what_it_covers():
    layout = across()
    table = summarise(layout, by_pair())
    shown = render(layout, table)
    assert list(shown.frame.columns) == ["Model", "Method", "", "mean @1", "IQM @1"]
    assert "on x, y: 3 problems" in shown.notes[0] and "not other benchmarks" in shown.notes[2]
    assert sentences(table, 0.05)[0].startswith(
        "m on x, y (in place of M on x, y), IQM of pass@1 over the benchmarks against a: b +31.2"
    )


def test_every_policy_needs_the_same_problems_on_each_benchmark():
    scores = {**by_pair(), ("b2", "y"): frame("b2", "z", [1])}
    with pytest.raises(RecordError, match="b2 has scores on other problems than a1"):
        summarise(across(), scores)

"""Answer classes, majority votes and entropies by hand; what the score stage makes of them."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT

from rlvr.config.layouts import ScoresLayout
from rlvr.files import RecordError
from rlvr.records import Completion, Grade, Problem
from rlvr.scoring.score import score
from rlvr.scoring.votes import CORRECT, answer_class, entropy, majority, miller_madow, votes
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.statistics.scores import avg, matrix, pass_at, units_of
from rlvr.statistics.table_rows import pass_at_k_rows as summarise
from rlvr.tables.pass_at_k import render


def test_what_votes_and_what_does_not():
    assert answer_class("correct", "1/2") == answer_class("correct", None) == CORRECT
    assert answer_class("wrong", r"\dfrac{1}{3}") == answer_class("wrong", r" \frac {1}{3}. ") != CORRECT
    assert answer_class("wrong", "( 1 + 2 )") == answer_class("wrong", "(1+2)")
    assert answer_class("wrong", "1/3") != answer_class("wrong", "2/6"), "text is compared, not value: declared"
    for status in ("unparsable", "truncated", "timeout", "out_of_memory", "error"):
        assert answer_class(status, "7") is None
    assert answer_class("wrong", None) is None
    assert answer_class("wrong", "{" * 100_000)


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        (["ok", "ok", "7"], 1.0),
        (["ok", "7", "7"], 0.0),
        (["ok", "7"], 1 / 2),
        (["ok", "7", "8"], 1 / 3),
        (["ok", "ok", "7", "8", "9"], 1.0),
        (["ok", "7", "7", "8", "8"], 0.0),
        (["7", "8"], 0.0),
        ([None, None], 0.0),
        (["ok", None, None, None], 1.0),
        ([], 0.0),
    ],
)
def test_majority_by_hand(answers, value):
    status = {"ok": "correct", None: "unparsable"}
    assert majority(votes((status.get(a, "wrong"), a) for a in answers)) == value


counts = st.dictionaries(st.sampled_from([CORRECT, *(("wrong", c) for c in "abcd")]), st.integers(0, 5)).map(Counter)


@given(counts)
def test_majority_laws(counts):
    value = majority(counts)
    assert 0 <= value <= 1
    assert majority(Counter({key: 3 * count for key, count in counts.items()})) == value, "only shares matter"
    assert majority(counts + Counter({CORRECT: 1})) >= value, "another correct answer never hurts"
    merged = Counter({CORRECT: counts[CORRECT], ("wrong", "a"): sum(n for c, n in counts.items() if c != CORRECT)})
    assert majority(merged) <= value, "merging wrong answers never helps"


def test_a_tie_is_the_chance_of_a_random_break():
    generator, answers = np.random.default_rng(0), Counter({CORRECT: 2, ("wrong", "a"): 2, ("wrong", "b"): 2})
    largest = [key for key, count in answers.items() if count == max(answers.values())]
    drawn = [largest[generator.integers(len(largest))] == CORRECT for _ in range(3000)]
    assert majority(answers) == pytest.approx(np.mean(drawn), abs=0.03)


def test_entropy_by_hand():
    assert entropy([2, 2]) == pytest.approx(math.log(2)) and entropy([5]) == entropy([5, 0]) == 0
    assert entropy([3, 1]) == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert math.isnan(entropy([])) and math.isnan(miller_madow([0]))
    assert miller_madow([3, 1]) == pytest.approx(entropy([3, 1]) + 1 / 8)


def test_the_plug_in_entropy_is_too_small_by_about_the_correction():
    """Four equal classes, N = 40: exact entropy ln 4, bias about -3 / 80 (Miller 1955)."""
    generator = np.random.default_rng(1)
    drawn = generator.multinomial(40, [0.25] * 4, size=4000)
    bias = np.mean([entropy(row) for row in drawn]) - math.log(4)
    assert bias == pytest.approx(-3 / 80, rel=0.1)
    assert abs(np.mean([miller_madow(row) for row in drawn]) - math.log(4)) < 0.1 * abs(bias)


def stage(answers: dict[str, list[tuple[str, str | None]]], kind=Problem, **fields) -> pd.DataFrame:
    problems = [kind(name, "", "", "1", **{key: values[name] for key, values in fields.items()}) for name in answers]
    samples = [(name, i, *answer) for name, given in answers.items() for i, answer in enumerate(given)]
    completions = [Completion(name, i, "", 3, "stop", 0.0, "in_process", "") for name, i, _, _ in samples]
    return pd.DataFrame(score(problems, completions, [Grade(name, i, *answer) for name, i, *answer in samples]))


OK, NO = ("correct", "5"), ("unparsable", None)


def test_scores_hold_the_majority():
    frame = stage({"p": [OK, OK, ("wrong", "4")], "q": [OK, ("wrong", "4"), ("wrong", " 4 ")], "r": [NO, NO, NO]})
    assert frame["majority"].tolist() == [1.0, 0.0, 0.0] and "cluster" not in frame


def test_scores_hold_clusters_where_a_problem_has_one():
    frame = stage({"p": [OK], "q": [OK], "r": [NO]}, Problem, cluster={"p": "c", "q": "c", "r": ""})
    assert frame["cluster"].tolist() == ["c", "c", "r"] and units_of(frame).tolist() == [0, 0, 1]
    np.testing.assert_allclose(matrix([frame], avg), [[1.0, 0.0]])
    assert "cluster" not in stage({"p": [OK]}, Problem, cluster={"p": ""})


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_avg_at_n_is_the_unbiased_pass_at_1(pair):
    n, c = pair
    frame = pd.DataFrame({"n": [n], "correct": [c]})
    np.testing.assert_allclose(avg(frame), pass_at_k(n, c, 1), atol=1e-12)
    np.testing.assert_allclose(avg(frame), pass_at(1)(frame), atol=1e-12)


def frames() -> dict[tuple[str, str], pd.DataFrame]:
    counts = {"a1": ([0, 4], [0, 1]), "a2": ([2, 4], [0.5, 1]), "b1": ([3, 4], [1, 1]), "b2": ([3, 4], [1, 1])}
    return {
        (name, "x"): pd.DataFrame({"problem": ["p", "q"], "n": 4, "correct": correct, "majority": voted})
        for name, (correct, voted) in counts.items()
    }


def test_a_table_asks_for_avg_and_maj():
    layout = typed(ScoresLayout, LAYOUT, measures=["avg", "maj"])
    table = summarise(layout, frames(), None)
    by_cell = table.set_index(["arm", "score", "k"])
    assert by_cell.loc[("a", "avg", 4), "value"] == pytest.approx(by_cell.loc[("a", "pass", 1), "value"])
    assert by_cell.loc[("a", "maj", 4), "value"] == pytest.approx(100 * (0 + 1 + 0.5 + 1) / 4)
    assert by_cell.loc[("b", "maj", 4), "difference"] == pytest.approx(100 * 1.5 / 4)
    assert table["difference_p_holm"].notna().sum() == 4, "one family: every difference of the table"
    shown = render(layout, table, None)
    assert list(shown.frame.columns) == ["Model", "Method", "", "@1", "@2", "avg@4", "maj@4"]
    assert any(note.startswith("maj@n") for note in shown.notes)
    plain = summarise(LAYOUT, frames(), None)
    both = table[table["score"] == "pass"].reset_index(drop=True)
    pd.testing.assert_frame_equal(plain.drop(columns="difference_p_holm"), both.drop(columns="difference_p_holm"))


def test_scores_of_an_earlier_version_are_named():
    old = {pair: frame.drop(columns="majority") for pair, frame in frames().items()}
    with pytest.raises(RecordError, match="run the score stage again"):
        summarise(typed(ScoresLayout, LAYOUT, measures=["maj"]), old, None)


def test_clusters_are_drawn_whole():
    """Two problems of one cluster are one unit: the interval is that of their means, not of twice as many problems."""
    values = np.random.default_rng(2).integers(0, 5, 30)
    single = pd.DataFrame({"problem": [f"p{i}" for i in range(30)], "n": 4, "correct": values})
    double = pd.concat([single, single], ignore_index=True).assign(problem=[f"p{i}" for i in range(60)])
    double["cluster"] = [f"c{i % 30}" for i in range(60)]
    cells = [{**dict(cell), "policies": [cell.arm]} for cell in LAYOUT.cells]
    layout = typed(ScoresLayout, LAYOUT, k=[1], cells=cells)
    once, twice = (summarise(layout, {("a", "x"): f, ("b", "x"): f}, None) for f in (single, double))
    same = ["value", "value_low", "value_high", "clusters"]
    pd.testing.assert_frame_equal(once[same], twice[same])
    assert once["problems"].iloc[0] == 30 and twice["problems"].iloc[0] == 60
    assert all(low <= high for low, high in pairwise(once[["value_low", "value_high"]].iloc[0]))

"""Heatmaps of tables and maps of solutions: what they show, from numbers by hand."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from support.layouts_by_hand import typed

from rlvr.figures._scored import OfTables
from rlvr.papers.pacs.figures import bars, heatmap, solution_map

ONE_MODEL = {"M": "xy"}


def table(arms, benchmarks=ONE_MODEL, **more) -> pd.DataFrame:
    """Statistics of a table with 10 k + i for the i-th arm."""
    return pd.DataFrame(
        {"model": model, "stand_in": "m", "benchmark": benchmark, "arm": arm, "label": arm, "score": "pass", "k": k}
        | {"value": 10.0 * k + i, "value_low": 10.0 * k + i - 2, "value_high": 10.0 * k + i + 3, **more}
        for model, names in benchmarks.items()
        for benchmark in names
        for i, arm in enumerate(arms)
        for k in (1, 4)
    )


def test_a_heatmap_has_a_row_a_method_and_its_numbers():
    figure = heatmap.draw(typed(OfTables), [table(("one", "two", "three", "blind"))])
    first, second = figure.axes
    assert [t.get_text() for t in first.get_yticklabels()] == ["one", "two", "three"]
    assert [t.get_text() for t in first.texts] == ["10.0", "40.0", "11.0", "41.0", "12.0", "42.0"]
    assert first.get_title() == "m\nx stand-in" and [t.get_text() for t in second.get_xticklabels()] == ["1", "4"]


def test_a_heatmap_of_models_with_different_benchmarks_has_a_row_a_model():
    figure = heatmap.draw(typed(OfTables), [table("ab", {"M": "xyz", "N": "xz"}, label="one name", value=1.0)])
    assert [axes.get_visible() for axes in figure.axes] == [True] * 5 + [False]
    assert [len(axes.texts) for axes in figure.axes] == [4] * 5 + [0], "two arms of one label are two rows"
    assert [len([t for t in axes.get_yticklabels() if t.get_text()]) for axes in figure.axes[:5]] == [2, 0, 0, 2, 0]


class Encoder:
    """Vectors by hand: a text is its numbers."""

    def encode(self, texts):
        return np.array([[float(word) for word in text.split()] for text in texts]), np.zeros(len(texts), bool)


def layout(problems=1, **more):
    cells = [{"arm": a, "learning_rate": 1.0, "policies": [f"{a}1"]} for a in "ab"]
    panel = {"name": "set", "evaluations": {"M": "x"}}
    return typed(solution_map.MapLayout, embedding="by hand", panels=[panel], cells=cells, problems=problems, **more)


def test_a_map_is_the_principal_components_of_centred_correct_solutions(monkeypatch):
    """Vectors along one axis: the first coordinate is that axis, centred by method; one solution is too few."""
    monkeypatch.setattr("rlvr.scoring.diversity.encoder_of", lambda name: Encoder())
    wide = {"0 -3 0": 1, "0 3 0": 1, "0 0 0.5": 1}
    narrow = {"5 -1 0": 1, "5 1 0": 2, "5 0 0": 1}
    given = {(f"{a}1", "x"): {"p": Counter(of), "q": Counter({"1 1 1": 9})} for a, of in (("a", wide), ("b", narrow))}
    frame = solution_map.statistics(layout(problems=2), given)
    assert set(frame["problem"]) == {"p"}, "q has too few correct solutions"
    of_a, of_b = (frame[frame["arm"] == arm] for arm in "ab")
    assert sorted(of_a["x"].abs().round(2)) == pytest.approx([0.0, 3.0, 3.0], abs=0.05)
    assert of_b["count"].tolist() == [1, 2, 1]
    assert np.average(of_b["x"], weights=of_b["count"]) == pytest.approx(0, abs=1e-9)
    assert of_a["x"].std() > 2 * of_b["x"].std()
    figure = solution_map.draw(layout(arms=[["a", "blue"], ["b", "orange"]]), [frame])
    assert figure.axes[0].get_title() == "p"
    assert solution_map.statistics(layout(problems=2), given).equals(frame)


def test_a_map_without_problems_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("rlvr.scoring.diversity.encoder_of", lambda name: Encoder())
    given = {(f"{a}1", "x"): {"q": Counter({"1 1 1": 9})} for a in "ab"}
    solution_map.statistics(layout(), given).to_csv(tmp_path / "map.csv", index=False)
    read = pd.read_csv(tmp_path / "map.csv")
    assert read.empty and {"model", "arm", "policies", "x", "seeds"} <= set(read.columns)
    (axes,) = solution_map.draw(layout(), [read]).axes
    assert axes.texts[0].get_text() == "No problem has 3 different correct solutions of each method."


def test_a_map_has_a_row_a_model():
    rows = [
        {"model": m, "stand_in": m, "arm": "a", "label": "a", "problem": p, "x": x, "y": x * x, "count": 1, "seeds": 1}
        for m, problems in {"M": "pq", "N": "r"}.items()
        for p in problems
        for x in (-1.0, 0.0, 1.0)
    ]
    axes = solution_map.draw(layout(), [pd.DataFrame(rows)]).axes
    assert [one.get_title() for one in axes if one.get_visible()] == ["M\np", "M\nq", "N\nr"]
    assert [one.get_visible() for one in axes] == [True, True, True, False]


def test_correct_solutions_are_counted_from_completions_and_grades(tmp_path):
    """Spaces and signs of a text do not make another solution; wrong answers are none."""
    from rlvr.items.inputs import INPUTS

    folder = tmp_path / "policy" / "evaluation"
    folder.mkdir(parents=True)
    texts = [("1 + 1", "correct"), ("1  +  1", "correct"), ("2", "correct"), ("3", "wrong")]
    files = [folder / "completions.jsonl", folder / "grades.jsonl"]
    for i, (file, key) in enumerate(zip(files, ("text", "status"), strict=True)):
        file.write_text("".join(json.dumps({"problem": "p", key: row[i]}) + "\n" for row in texts))
    assert INPUTS["solutions"].read(files) == {("policy", "evaluation"): {"p": Counter({"1 + 1": 2, "2": 1})}}


def test_bars_have_their_heights_their_intervals_and_a_blind_guess():
    figure = bars.draw(typed(OfTables), [table(("blind", "one", "two"))])
    (axes,) = figure.axes
    assert [round(bar.get_height()) for bar in axes.patches] == [11, 11, 12, 12], "by method, then by benchmark"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["x\nstand-in", "y\nstand-in"]
    assert axes.get_ylabel() == "pass@1 (%)"
    whiskers = axes.collections[0].get_segments()
    assert whiskers[0][:, 1].tolist() == [9.0, 14.0]
    assert sum(len(c.get_segments()) for c in axes.collections if c.get_linestyle()[0][1] is not None) == 2

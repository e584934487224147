"""Golds: the answer in a worked solution, texts that say there is none, and a check by the set's verifier."""

from __future__ import annotations

import json
import random

import pytest
from support.published_sets import PNG, lines, loaded, parquet
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config.schema.models_and_data import LocalData
from rlvr.data import card, golds, local
from rlvr.data.prepare import make
from rlvr.data.rows import DataError
from rlvr.files import read_json, sha256

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
    with pytest.raises(DataError, match=r'line 1: answer: "Proof omitted" is no answer .proof.; leave'):
        local.read(path, "math")


# ---- one reader for every path ----

# An answer field as a public set has it, the gold, and the form that the card counts. Our own words and numbers.
FIELDS = [
    ("48+24=<<48+24=72>>72 clips.\n#### 72", "72", golds.MARKED),  # GSM8K
    ("He pays $1,200.\n#### 1,200", "1,200", golds.MARKED),
    ("He has 7 - 10 = -3. #### -3", "-3", golds.MARKED),  # on one line
    ("5 * 22 = 110\n#### 110\nThe answer is: 110", "110", golds.STATED),  # MetaMath
    ("So $x=2$.\n\n**Answer:** $x = 2$.", "$x = 2$", golds.STATED),
    ("First 3. Therefore, the final answer is \\boxed{\\frac{3}{4}}.", "\\frac{3}{4}", golds.STATED),
    ("so $x = \\boxed{1}$, then \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}", golds.BOXED),  # MATH
    ("\\boxed{3}", "3", golds.BOXED),
    ("$\\boxed{3}, \\boxed{-4}$", "3, -4", golds.SEVERAL),
    ("\\boxed{3} \\text{ and } \\boxed{4}.", "3, 4", golds.SEVERAL),
    ("\\frac{9}{7}", "\\frac{9}{7}", golds.ONLY),  # NuminaMath-1.5, DeepScaleR
    ("\\text{(B)}", "\\text{(B)}", golds.ONLY),
    (["$4,6$"], "$4,6$", golds.ONLY),  # OlympiadBench
    (["$\\frac{1}{2}$", "$3$"], "\\frac{1}{2}, 3", golds.SEVERAL),
    ('["\\\\frac{1}{2}"]', "\\frac{1}{2}", golds.ONLY),  # Skywork-OR1: a list as a text
    ('["2", "-3"]', "2, -3", golds.SEVERAL),
    ([3, 4.0], "3, 4", golds.SEVERAL),
    (25.0, "25", golds.ONLY),
    (-0.5, "-0.5", golds.ONLY),
    ("[0, 1]", "[0, 1]", golds.ONLY),
]
NONE = {
    "proof": [
        "proof",
        "Proof omitted",
        "\\text{Proof.}",
        "see the proof",
        "Proof by induction",
        "Prove that $x>0$",
        "Q.E.D.",
    ],
    "answer not found": [
        *("notfound", "not_found", "\\text{Not found}", "unknown", "$Unknown.$", "Answer not given", "no answer found"),
        *("N/A", "nan", "null", "-", "???", "see solution", "Refer to the figure.", "The answer is: unknown", "略"),
    ],
    "no answer": [None, "", "  ", float("nan"), [], [None, ""], "\\boxed{}", "$.$"],
}
ANSWERS_ALL_THE_SAME = [
    "\\text{None}",
    "\\emptyset",
    "\\text{undefined}",
    "\\text{no solution}",
    "Na_2",
    "-1",
    "unknown x",
    "proofs = 3",
    "The answer is not unique.",
]


@pytest.mark.parametrize(("field", "gold", "form"), FIELDS)
def test_an_answer_field_is_read_alike_on_every_path(field, gold, form, tmp_path):
    """By the reader, from a published set's file, and from somebody's own file."""
    assert golds.read(field, "math") == golds.Gold(gold, form)
    assert golds.read(gold, "math").text == gold, "reading it again changes nothing"
    row = {"problem": "p", "answer": field}
    for name in ("deepscaler", "geometry3k-test"):
        more = {"images": [{"bytes": PNG, "path": "x"}]} if name == "geometry3k-test" else {}
        problems, tally = (
            loaded(name, lines(tmp_path / "x.jsonl", [row | more]))
            if not more
            else loaded(name, parquet(tmp_path / "x.parquet", [row | more]))
        )
        assert [problem.gold for problem in problems] == [gold] and tally.forms == {form: 1}
    own = lines(tmp_path / "own.jsonl", [{"prompt": "p", "answer": field}])
    assert [(line.problem.gold, line.form) for line in local.lines(own, "math")] == [(gold, form)]


def test_grade_finds_the_answer_of_every_published_field_right():
    rows = [
        {"id": i, "completion": f"so \\boxed{{{gold}}}", "gold": field} for i, (field, gold, _) in enumerate(FIELDS)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = CliRunner().invoke(app, ["grade", "--verifier", "math"], input=text)
    assert not done.stderr and [json.loads(line)["correct"] for line in done.stdout.splitlines()] == [True] * len(
        FIELDS
    )


@pytest.mark.parametrize(("reason", "field"), [(reason, field) for reason, fields in NONE.items() for field in fields])
def test_a_field_without_an_answer_is_none_on_every_path(reason, field, tmp_path):
    for verifier in golds.MATHEMATICS:
        with pytest.raises(golds.NoAnswer, match=f"^{reason}$"):
            golds.read(field, verifier)
    rows = [{"problem": "p", "answer": field}, {"problem": "q", "answer": "7"}]
    problems, tally = loaded("deepscaler", lines(tmp_path / "x.jsonl", rows))
    assert [problem.gold for problem in problems] == ["7"] and tally.left_out == {reason: 1}
    own = lines(tmp_path / "own.jsonl", [{"prompt": "p", "answer": field}, {"prompt": "q", "answer": "7"}])
    with pytest.raises(DataError, match="line 1: answer: "):
        local.read(own, "math")
    answer = {"id": 1, "completion": "\\boxed{7}", "gold": field}
    done = CliRunner().invoke(app, ["grade", "--verifier", "math"], input=json.dumps(answer))
    assert done.exit_code == 2 and json.loads(done.stdout)["status"] == "invalid"


@pytest.mark.parametrize("gold", ANSWERS_ALL_THE_SAME)
def test_an_answer_in_words_is_an_answer(gold):
    assert golds.read(gold, "math").text == gold


@pytest.mark.parametrize("seed", range(3))
def test_the_answer_of_a_generated_solution_is_the_one_that_was_put_at_its_end(seed):
    """Laws: whatever the steps hold, the end decides; a list of answers has each of them; reading is idempotent."""
    draw = random.Random(seed)
    answers = ["7", "-2.5", "\\frac{3}{4}", "x^2+1", "(1, 2)", "\\sqrt{2}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"]
    steps = ["48/2 = <<48/2=24>>24.", "So \\boxed{9} is too much.", "#### no heading", "The answer is not 3.", "a, b"]
    for _ in range(100):
        begin = "\n".join(draw.sample(steps, draw.randrange(len(steps))))
        answer = draw.choice(answers)
        ends = [
            f"#### {answer}",
            f"\\boxed{{{answer}}}",
            f"The answer is: {answer}",
            f"#### {answer}\nThe answer is: {answer}.",
        ]
        solution = f"{begin}\n{draw.choice(ends)}"
        assert golds.read(solution, "math").text == answer, solution
        chosen = draw.sample(answers, draw.randrange(2, 5))
        several = draw.choice([chosen, json.dumps(chosen), ", ".join(f"\\boxed{{{one}}}" for one in chosen)])
        assert golds.read(several, "math") == golds.Gold(", ".join(chosen), golds.SEVERAL)
        assert golds.read(golds.read(several, "math").text, "math").text == ", ".join(chosen)


@pytest.mark.parametrize("field", [True, {1: 2}.keys(), [[1]], [{"a": 1}], [True], b"5"])
def test_a_value_of_another_type_is_refused(field):
    with pytest.raises(TypeError, match="must be a text, a number, or a list of them"):
        golds.read(field, "math")


def test_other_verifiers_take_one_answer_and_read_only_what_is_theirs():
    with pytest.raises(golds.NoAnswer, match="several answers, and the verifier choice takes one"):
        golds.read(["A", "B"], "choice")
    assert golds.read(["A"], "choice").text == "A"
    assert golds.read("unknown", "exact").text == "unknown"
    assert golds.read("#### 5", "exact").text == "#### 5"
    assert golds.read({"kind": "stdin", "tests": []}, "code").text == '{"kind": "stdin", "tests": []}'


def test_lines_without_an_answer_are_counted_and_the_card_counts_the_forms(tmp_path):
    rows = [{"prompt": str(i), "answer": "unknown" if i % 3 else f"so\n#### {i}"} for i in range(9)]
    path = lines(tmp_path / "my.jsonl", rows)
    with pytest.raises(DataError, match=r'line 2: answer: "unknown" is no answer .*leave the line out \(6 lines have'):
        local.read(path, "math")
    good = lines(
        tmp_path / "good.jsonl", [row for row in rows if row["answer"] != "unknown"] + [{"prompt": "x", "answer": 5}]
    )
    spec = LocalData(task="local", name="my", path=str(good), sha256=sha256(good), verifier="math", problems=4)
    (tmp_path / "out").mkdir()
    card.write(tmp_path / "out", make(spec, tmp_path / "out"))
    assert read_json(tmp_path / "out" / "card.json")["forms"] == {"behind ####": 3, "the answer only": 1}
    text = (tmp_path / "out" / "card.md").read_text()
    assert "- Answer fields, by what they hold: behind #### 3, the answer only 1\n" in text

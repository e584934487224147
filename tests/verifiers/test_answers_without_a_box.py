r"""The verifier `math` on what is no `\boxed`: expressions in prose, `\fbox`, a final channel."""

import time

import pytest

from rlvr.data.adapters.boxed import boxed
from rlvr.verifiers import _math_verify, behind_thought, in_one_notation
from rlvr.verifiers import math as maths
from rlvr.verifiers._statement import stated
from rlvr.verifiers.pool import Pool


@pytest.fixture(autouse=True)
def no_alarm(monkeypatch):
    """As in a worker: math-verify's own time-out counts clock time, which a busy machine takes for the first import."""
    monkeypatch.setattr(_math_verify, "IN_A_WORKER", True)


STATEMENTS = (
    "Final answer: {}",
    "The answer is {}.",
    "**Answer: {}**",
    "#### {}",
    "So we need {} here.",
    "Answer: x = {}",
)
# What stands behind a number and makes it another one.
BEHIND = [
    " 2/3", " 10/3", " and 1/2", " and a half", " pi", "pi", "π", " million", " thousand dollars", " dozen",
    " squared", " halves", "x", " x", "x + 1", " - 3x", "t", "ab", "^n", "**n", " + 4i", "√2", " sqrt(2)",
    r"\sqrt{2}", r"\frac{2}{3}", r" \pi", "e5", ":4", ",000,000", "(x+1)", " or 4", " hours 30 minutes", " ft 6 in",
    "°30'", " times 4", " x 4", " < x", " ± 1", "!/7", r" $\frac{2}{3}$", " 2/3 percent", " / y", " × 4", "²",
]  # fmt: skip
RIGHT = [
    ("11 5/6", "71/6"), ("2 2/3", r"\frac83"), ("-2 2/3", "-8/3"), ("1 1/2 hours", "1.5"), ("3 pi", r"3\pi"),
    ("3π/4", r"\frac{3\pi}{4}"), ("5 million", "5000000"), ("$5 million", "5000000"), ("$5$ million", "5000000"),
    ("12 thousand dollars", "12000"), ("2x+1", "2x+1"), ("3 + 4i", "3+4i"), ("2 sqrt(3)", r"2\sqrt3"),
    ("4√2 + 8", r"8+4\sqrt2"), (r"2\frac{2}{3}", "8/3"), (r"$2$ $\frac{2}{3}$", "8/3"), ("3 or 4", "3,4"),
    ("3, 4", "3,4"), ("(3, 4)", "(3,4)"), ("3:4", "3:4"), ("3e5", "300000"),
    ("5 hours 30 minutes", r"5\text{ hours } 30\text{ minutes}"), ("25_6", "25_6"), ("2 2/3%", "8/3"),
    # a number with what changes nothing
    ("42", "42"), ("42 apples", "42"), ("42 (6*7)", "42"), ("42 - a nice number", "42"), ("42 in total", "42"),
    ("12 cm", "12"), ("12cm", "12"), ("100m2", "100"), ("42 m2", "42"), ("10 cm^2", "10"), ("60 km/h", "60"),
    ("5 dollars", "5"), ("$5.50", "5.5"), ("1,234 people", "1234"), ("1 000", "1000"), ("7/8 of the cake", "7/8"),
    ("256+37 = 293", "293"), ("42, since 6 times 7 is 42", "42"), ("5%", "5"), ("42!", "42"), ("3rd", "3"),
    ("12 (mod 13)", "12"), ("0.7000007", "0.7000007"),
]  # fmt: skip


@pytest.mark.parametrize("behind", BEHIND)
def test_a_number_is_no_answer_where_more_stands_behind_it(behind):
    """By no statement, neither the number nor the last number of what follows."""
    for statement in STATEMENTS:
        text = statement.format(f"3{behind}")
        assert [maths.judge(text, gold)[0] for gold in ("3", "2", "4", "10", "30", "2/3")].count("correct") == 0, text


@pytest.mark.parametrize("listed", ["3, 4", "3 and 4", "3, 5, and 4", "3, x"])
def test_a_list_at_the_end_of_a_sentence_is_no_single_number(listed):
    for statement in ("Final answer: {}", "The answer is {}. So it is.", "**Answer: {}**"):
        assert [maths.judge(statement.format(listed), gold)[0] for gold in ("3", "4")] == ["wrong"] * 2


@pytest.mark.parametrize(("answer", "gold"), RIGHT)
def test_an_answer_in_prose_is_read_as_in_a_box(answer, gold):
    for statement in ("Final answer: {}", "The answer is {}."):
        assert maths.judge(statement.format(answer), gold)[0] == "correct"


def test_a_text_without_an_answer_is_unparsable():
    assert maths.judge("I do not know", "42")[0] == "unparsable"


def test_a_known_unit_in_prose_counts_as_in_a_box():
    assert maths.judge("The answer is 5 hours.", r"5 \text{ minutes}")[0] == "wrong"
    assert maths.judge("The answer is 5 hours.", r"5 \text{ hours}")[0] == "correct"


STATED = [
    ("<answer>17</answer>", "17"),
    ("<answer>\n$\\frac{3}{4}$\n</answer>", "0.75"),
    ("答案是 17。", "17"),
    ("故答案为：17", "17"),
    ("因此答案是 $\\sqrt{5}$。", "\\sqrt5"),
    ("**17**", "17"),
    ("So we get\n\n**17**", "17"),
    ("The sum is $17$.", "17"),
    ("Hence the final answer is **17**.", "17"),
    ("Thus x = 17", "17"),
    ("### Final Answer\n\n$$17$$", "17"),
    ("The answer is: 17", "17"),
    ("Answer: B", "B"),
    ("Final answer: No", "no"),
    ("#### 1,200", "1200"),
    ("My final answer is $17$.", "17"),
    ("The final answer is 17\n\nLet me know if you have questions!", "17"),
    ("**Final answer**: $(2, 3)$", "(2,3)"),
    ("The result is 17.", "17"),
    ("Die Antwort lautet 17.", "17"),
    ("The answer: 17 km", "17"),
    ("So the area is 17 square meters.", "17"),
    ("Answer = 17", "17"),
    ("\\[\n\\text{Answer: } 17\n\\]", "17"),
    ("The answer is\n\\[ 17 \\]", "17"),
    ("The answer is \\(17\\).", "17"),
    ("_17_", "17"),
    ("Final Answer: **17**\n", "17"),
    ("最终答案：17", "17"),
    ("정답은 17입니다.", "17"),
    ("La réponse est 17.", "17"),
    ("A resposta é 17.", "17"),
    ("Ответ: 17", "17"),
    ("The answer is not 16, it is 17.", "17"),
]
NOT_STATED = [
    ("It is definitely not 17.", "17"),
    ("The answer is definitely not 17", "17"),
    ("The answer is not 17", "17"),
    ("We know 17 is prime, so let us continue", "17"),
    ("The answer is at least 17", "17"),
    ("The answer is either 17 or 18", "17"),
    ("There are 17 apples in the basket and we must go on", "17"),
    ("Answer: 17 and 18", "17"),
    ("the answer is between 17 and 18", "17"),
    ("I do not know the answer. 17", "17"),
    ("<answer>not 17</answer>", "17"),
    ("<answer>16</answer> 17", "17"),
    ("The answer isn't 17.", "17"),
    ("The answer cannot be 17", "17"),
    ("答案不是17", "17"),
    ("答案是17或18", "17"),
    ("Answer: 17 million", "17"),
    ("Step 17", "17"),
    ("Page 17.", "17"),
    ("The answer is 17.5", "17"),
    ("The answer is more than 17", "17"),
    ("The answer is 17 less than x", "17"),
    ("The answer is 16. Some say 17.", "17"),
    ("x is not equal to 17", "17"),
    ("so x != 17", "17"),
    ("17, 18", "17"),
    ("Could the answer be 17?", "17"),
    ("If the answer is 17, then", "17"),
    ("The answer is never 17", "17"),
    ("Is it 17?", "17"),
    ("not 17", "17"),
    ("17?", "17"),
    ("x > 17", "17"),
    ("It is 17 or so", "17"),
    ("The sum is not $17$.", "17"),
    ("We want the answer: 17 is too large, 18 too", "17"),
    ("$x$ is less than $17$.", "17"),
]


@pytest.mark.parametrize(("text", "gold"), STATED)
def test_a_statement_of_the_answer_is_read(text, gold):
    assert maths.judge(text, gold)[0] == "correct"


@pytest.mark.parametrize(("text", "gold"), NOT_STATED)
def test_a_number_that_a_text_mentions_denies_or_doubts_is_no_answer(text, gold):
    assert maths.judge(text, gold)[0] != "correct"


@pytest.mark.parametrize(
    "unit", ["(", "((1", "1, ", "answer is ", "= 1 ", r"\a{", "$1 ", r"\(", "is (1+(2)", "**", "不是"]
)
def test_a_hostile_text_is_searched_at_once(unit):
    text = (unit * 2000)[: maths.LONGEST]  # a worker has 5 seconds
    began = time.process_time()
    stated(text)
    assert time.process_time() - began < 0.5


# ---- a box is required ----


@pytest.mark.parametrize("verifier", ["math", "choice"])
def test_where_a_box_is_required_a_statement_without_one_is_unparsable(verifier):
    gold = "B"
    texts = [
        "The answer is B.",
        "\\boxed{B}",
        "\\fbox{B}",
        "analysis \\boxed{A}assistantfinalThe answer is B.",
        "\\boxed{A}",
    ]
    with Pool(verifier) as preferred, Pool(verifier, box="required") as required:
        assert [v.status for v in preferred.judge((text, gold) for text in texts)] == ["correct"] * 4 + ["wrong"]
        found = [v.status for v in required.judge((text, gold) for text in texts)]
    assert found == ["unparsable", "correct", "correct", "unparsable", "wrong"]


def test_a_response_that_is_one_letter_needs_no_box():
    with Pool("choice", box="required") as pool:
        assert [v.status for v in pool.judge([("B", "B"), ("(b).", "B"), ("A", "B"), ("B and", "B")])] == [
            "correct", "correct", "wrong", "unparsable"
        ]  # fmt: skip


def test_a_verifier_of_whole_responses_needs_no_box():
    with Pool("exact", box="required") as pool:
        assert [v.status for v in pool.judge([("Paris", "Paris")])] == ["correct"]


# ---- other boxes ----


@pytest.mark.parametrize(
    ("text", "gold", "status"),
    [
        (r"\fbox{204}", "204", "correct"), (r"\fbox{\frac12}", "0.5", "correct"),
        (r"\boxed{1} \fbox{2}", "2", "correct"), (r"\fbox{2} \boxed{1}", "2", "wrong"),
        (r"\boxed{\fbox{5}}", "5", "correct"), (r"\boxed{1} \fbox{2", "1", "unparsable"),
        (r"\boxed{204}", r"\fbox{204}", "correct"), (r"</think>\fbox{204}", "</think>204", "correct"),
    ],
)  # fmt: skip
def test_fbox_is_a_box_of_answers_and_golds(text, gold, status):
    assert maths.judge(text, gold)[0] == status


def test_answers_and_solutions_share_their_boxes():
    for text in (r"so \fbox{204}", r"\boxed{1}, then \fbox{\frac12}"):
        assert boxed(text) == maths.judge(text, "7")[1]


# ---- channels ----

FLAT = "analysisWe try {thought}.assistantfinal{final}"
RAW = (
    "<|channel|>analysis<|message|>We try {thought}.<|end|><|start|>assistant"
    "<|channel|>final <|constrain|>text<|message|>{final}<|return|>"
)


@pytest.mark.parametrize("form", [FLAT, RAW])
@pytest.mark.parametrize("gold", ["42", "</think>42"])
def test_the_final_channel_counts(form, gold):
    for final, status in [
        ("The answer is 42.", "correct"),
        (r"\boxed{42}", "correct"),
        (r"\boxed{41}", "wrong"),
        ("", "unparsable"),
    ]:
        text = form.format(thought=r"\boxed{42} or \boxed{41}", final=final)
        assert maths.judge(text, gold)[0] == status
        assert maths.reads(text) == maths.reads(form.format(thought="nothing", final=final))


def test_without_a_final_channel_a_text_stays_as_it_is():
    for text in (
        "analysis \\boxed{1}",
        "My assistantfinal thought",
        "<|channel|>analysis<|message|> \\boxed{1}",
        "final: 3",
    ):
        assert in_one_notation(text) == text and behind_thought(text) is None
    assert maths.judge("analysis \\boxed{1}", "</think>1")[0] == "unparsable"

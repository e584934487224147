"""The verifier `choice`: the option stated as the answer, letters that may be words or variables, several letters."""

import json

import pytest

from rlvr.verifiers import _math_verify
from rlvr.verifiers.choice import judge


@pytest.fixture(autouse=True)
def no_alarm(monkeypatch):
    """As in a worker: math-verify's own time-out counts clock time, which a busy machine takes for the first import."""
    monkeypatch.setattr(_math_verify, "IN_A_WORKER", True)


STATED = {
    "The answer is (A). Option B is wrong because it ignores friction.": "A",
    "Answer: C\n\nOption A is incorrect.\nOption D is incorrect.": "C",
    "The correct answer is C. (Option B would be true for T = 0.)": "C",
    "The answer is C; choice B fails.": "C",
    "The answer is A, since option B is false.": "A",
    "So the correct option is D.": "D",
    "I pick option B.": "B",
    "Option A fails. I choose option C.": "C",
    "The answer is A. No, wait. The answer is B.": "B",
    "Option A fails. Option C holds. The answer is choice C": "C",
    "Therefore, the answer is: option B": "B",
    # a small letter, where its statement ends
    "ANSWER: b": "B",
    "answer: b\nBecause a car moves": "B",
    "The correct answer is d.": "D",
    "The answer is c because it is": "C",
    "The answer is c, since d fails": "C",
    "The correct option is (c).": "C",
    "The correct choice is **b)**.": "B",
    "Answer: b) 12 cm": "B",
    "Option A fails. The answer is c.": "C",
    "The answer is (B). Then the answer is a function.": "B",
    "The answer is a.": "A",
    "ANSWER: a": "A",
    "(b)": "B",
    "c": "C",
    # other words and languages, emphasis, tags
    "Antwort: C": "C",
    "I would pick B — a safe choice.": "B",
    "C. A pretty girl": "C",
    "所以答案是D。": "D",
    "故选：B": "B",
    "应选C。": "C",
    "【答案】A": "A",
    "<answer> (B) </answer>": "B",
    "The answer is not A, it is D.": "D",
    "The answer cannot be B or C; hence A.": "A",
    "so the answer should be C.": "C",
    "Everything considered, **(D)**": "D",
    "I'd go with C.": "C",
    "Choose D.": "D",
    "C is the right answer.": "C",
    "Option D is correct": "D",
    "It's A!": "A",
    '{"answer": "C"}': "C",
    "Answer = D": "D",
    "Answer - A": "A",
    "答案：B": "B",
    "选B": "B",
    "ANSWER: d": "D",
    "D: because it rises": "D",
    "The correct answer must be (B).": "B",
    "B must be correct.": "B",
    "정답은 C": "C",
    "正确答案为D": "D",
    # boxes
    r"\boxed{C - 12 cm}": "C",
    r"\boxed{C — 12 cm}": "C",
    r"\boxed{C 12 cm}": "C",
    r"\boxed{\text{C} \ 12 \text{ cm}}": "C",
    r"\boxed{c}": "C",
    r"\boxed{(c)}": "C",
    r"\boxed{\text{(c) } 12}": "C",
    r"\boxed{b. 12 cm}": "B",
    r"\fbox{B}": "B",
    # the final channel
    r"analysis \boxed{A}assistantfinalThe answer is b.": "B",
    "analysisMaybe A.assistantfinalB": "B",
    "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>**D**<|return|>": "D",
}
NO_LETTER = [
    "The answer is not A.", "I would not pick A.", "A is not correct.", "Neither B nor A is correct.",
    "If A is correct, then", "A and B", "Don't select A.", "I won't choose A", "A or B is correct.",
    "The answer cannot be A.", "A is incorrect.", "答案不是A", "不选A", "It is A force.", "It's a trap",
    "Select A subset", "hence a car", "A is correct, but so is B? no.", "Why is A correct?", "A friend is correct.",
    "Pick a card", "Choose A or B", "It is A or B", "the answer isn't A", "both A and B. ", "The answer is A cat.",
    "I pick a. ", "A: B: C", "Is it A?", "A. B. C.",
    "The answer is a car", "The answer is a car.", "The answer is a", "Answer: a cycloid", "The best option is a walk.",
    "I'd answer a question", "The answer a student gave", "The answer is i think", "The answer is I think B",
    "answer: f(x)", "The answer is e.g. 5", "the answer is i.e. 5", "The answer is c/2", "The answer is d = 5",
    "the answer is b or c.", "The answer is a, b and c.", "option a is wrong", r"\boxed{a car}", r"\boxed{A cycloid}",
    r"\boxed{I think}", r"\boxed{I - think}", r"\boxed{A - B}", r"\boxed{C - 12 or D - 13}", r"\boxed{C 12, D 13}",
    r"\boxed{A) and B)}", r"\boxed{a) and b)}", r"\boxed{(a) or (b)}", r"\boxed{i.e. 5}", r"\boxed{f: R \to R}",
    r"\boxed{E mc^2}", r"\boxed{C-14}", r"\boxed{B minor}", r"\boxed{b c}", r"\boxed{c + d}",
]  # fmt: skip
LENGTHS = ["10 cm", "11 cm", "12 cm", "13 cm"]
SYMBOLS = ["a", "c", "e", "B 12"]


@pytest.mark.parametrize("text", STATED)
def test_the_letter_that_is_stated_as_the_answer_counts(text):
    assert judge(text, STATED[text]) == ("correct", STATED[text])


@pytest.mark.parametrize("text", NO_LETTER)
def test_an_article_a_pronoun_a_variable_and_several_letters_are_no_letter(text):
    assert judge(text, "A") == ("unparsable", None)


@pytest.mark.parametrize(
    ("answer", "options", "letter"),
    [
        ("C 12 cm", LENGTHS, "C"), ("C - 12 cm", LENGTHS, "C"), (r"C 12\text{ cm}", LENGTHS, "C"), ("c", LENGTHS, "C"),
        ("c) 12 cm", LENGTHS, "C"), ("C 13 cm", LENGTHS, None), ("C - 13 cm", LENGTHS, None), ("C 7 5", LENGTHS, None),
        ("d) 12 cm", LENGTHS, None), ("e", LENGTHS, None),
        # an option's text or value before a letter that may be none
        ("c", SYMBOLS, "B"), ("e", SYMBOLS, "C"), ("a", SYMBOLS, "A"), ("B 12", SYMBOLS, "D"), ("B", SYMBOLS, "B"),
        ("d", SYMBOLS, "D"),
    ],
)  # fmt: skip
def test_with_options_a_doubtful_letter_is_an_options_text_first(answer, options, letter):
    gold = json.dumps({"letter": "A", "options": options})
    assert judge(f"\\boxed{{{answer}}}", gold)[1] == letter
    if answer in "abcde":
        assert judge(f"The answer is {answer}.", gold)[1] == letter


def test_a_box_counts_before_all_text():
    assert judge("The answer is A. \\boxed{B}", "B") == ("correct", "B")
    assert judge("The answer is B. \\boxed{A}", "B") == ("wrong", "A")

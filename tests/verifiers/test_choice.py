"""The verifier `choice` on answers without a box: the option stated as the answer, not one that is named after it."""

import pytest

from rlvr.verifiers.choice import judge

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
}


@pytest.mark.parametrize("text", STATED)
def test_the_letter_that_is_stated_as_the_answer_counts(text):
    assert judge(text, STATED[text]) == ("correct", STATED[text])


def test_a_box_counts_before_all_text():
    assert judge("The answer is A. \\boxed{B}", "B") == ("correct", "B")
    assert judge("The answer is B. \\boxed{A}", "B") == ("wrong", "A")

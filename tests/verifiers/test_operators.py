"""Verdicts on operator fill."""

import pytest

from rlvr import verifiers

judge = verifiers.load("operators")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("\\boxed{ ( 8 * 8 ) - 6 }", "correct"),
        ("\\boxed{((8*8)-6)}", "correct"),
        ("\\boxed{ 8 * 8 - 6 }", "correct"),
        ("\\boxed{ 58 }", "wrong"),  # the target itself
        ("\\boxed{ 8 * 6 + 10 }", "wrong"),  # other numbers
        ("\\boxed{ ( 8 * 6 ) - 8 }", "wrong"),  # another order
        ("\\boxed{ ( 8 + 8 ) - 6 }", "wrong"),
        ("\\boxed{ ( 8 * 8 ) - 6", "unparsable"),  # never closed
        ("8 * 8 = 64 - 6 = 58", "unparsable"),
        ("\\boxed{ ( 8 * 8 - 6 }", "unparsable"),
        ("\\boxed{ 8 * 8 - 6 if 1 else 2 }", "unparsable"),
        ("\\boxed{ __import__('os') }", "unparsable"),
        ("\\boxed{ 8 ** 8 ** 8 }", "unparsable"),  # no power is evaluated
        ("\\boxed{" + "(" * 5000 + "8" + ")" * 5000 + "}", "unparsable"),
        ("\\boxed{ 1 } then \\boxed{ ( 8 * 8 ) - 6 }", "correct"),  # the last box counts
        ("\\boxed{ ( 8 * 8 ) - 6 } then \\boxed{ 1 }", "wrong"),
    ],
)
def test_verdicts_on_operator_fill(text, status):
    assert judge(text, "8 8 6 = 58")[0] == status


def test_a_cut_response_is_truncated_not_unparsable():
    assert verifiers.settle(judge("8 * 8 =", "8 8 6 = 58"), finished=False)[0] == "truncated"
    assert verifiers.settle(judge("8 * 8 =", "8 8 6 = 58"), finished=True)[0] == "unparsable"
    assert verifiers.settle(judge("\\boxed{8*8-6}", "8 8 6 = 58"), finished=False)[0] == "correct"

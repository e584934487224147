"""Verdicts by math-verify."""

from rlvr import verifiers


def test_math_verdicts_by_math_verify():
    math = verifiers.load("math")
    assert math("so \\boxed{\\frac{1}{2}}", "0.5")[0] == "correct"
    assert math("so \\boxed{ 42 }", "42")[0] == "correct"
    assert math("so \\boxed{41}", "42")[0] == "wrong"
    assert math("I do not know", "42")[0] == "unparsable"

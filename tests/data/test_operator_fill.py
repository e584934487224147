"""The operator-fill task and its splits."""

import ast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlvr import verifiers
from rlvr.data.tasks.operator_fill import generate_problems, parse, part_of, respond, solutions, text_of, values

judge = verifiers.load("operators")
numbers = st.lists(st.integers(1, 9), min_size=2, max_size=5).map(tuple)


@given(numbers)
def test_every_solution_passes_the_verifier_and_python_agrees(found):
    for target, ways in solutions(found).items():
        for operators in ways:
            response = respond(found, operators)
            assert judge(response, text_of(found, target))[0] == "correct"
            boxed = verifiers.last_boxed(response)
            assert eval(compile(ast.parse(boxed, mode="eval"), "box", "eval")) == target


@given(numbers, st.integers(0, 63))
def test_a_response_to_another_target_fails(found, target):
    for reached, ways in solutions(found).items():
        verdict = judge(respond(found, ways[0]), text_of(found, target))[0]
        assert verdict == ("correct" if reached == target else "wrong")


def test_values_stay_in_range():
    assert values((8, 7, 6, 2), ("*", "-", "+")) == [56, 50, 52]
    assert values((8, 8, 6), ("*", "-")) is None  # 64 on the way
    assert values((9, 9), ("*",)) is None
    assert values((1, 2), ("-",)) is None


def test_a_small_level_gives_what_it_has():
    many = generate_problems("easy", [3], 5000, None, np.random.default_rng(0))
    assert 200 < len(many) < 600


def test_hard_problems_have_one_solution_and_are_of_their_part():
    for problem in generate_problems("hard", [5], 40, 1, np.random.default_rng(0)):
        found, target = parse(problem.prompt)
        assert len(solutions(found)[target]) == 1 and part_of(found, target) == "hard"


def test_the_tokenizer_knows_every_word(policy):
    text = respond((8, 7, 6, 2), ("*", "-", "+"))
    assert text == "8 * 7 = 56 - 6 = 50 + 2 = 52 \\boxed{ ( ( ( 8 * 7 ) - 6 ) + 2 ) }"
    tokens = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert policy.tokenizer.unk_token_id not in tokens
    assert policy.decode([tokens]) == [text]
